package client

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestAWatchOfASubtreeIsRemovedUnlessItIsSomebodyElsesToo(t *testing.T) {
	for name, tc := range map[string]struct {
		other   string // what another watches; "" for none
		cut     bool   // the other's connection has ended
		removed int    // watches, when the first ends
	}{
		"there is no other":                         {removed: 1},
		"another of the same nodes":                 {other: "/", removed: 0},
		"another of other nodes":                    {other: "/a", removed: 1},
		"another of the same nodes that has ended":  {other: "/", cut: true, removed: 1},
		"another of other nodes whose link is gone": {other: "/a", cut: true, removed: 1},
	} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, c *Client) {
			removes := func() int { synctest.Wait(); return server.Requests()[zktest.OpRemoveWatches] }
			var other *Subtree
			if tc.other != "" {
				var err error
				other, err = c.WatchSubtree(t.Context(), tc.other)
				require.NoError(t, err)
			}
			if tc.cut {
				server.Cut()
				synctest.Wait()
				_, err := c.Await(t.Context(), AnySession)
				require.NoError(t, err)
			}
			first, err := c.WatchSubtree(t.Context(), "/")
			require.NoError(t, err)
			first.End()
			require.Equal(t, tc.removed, removes())
			if other != nil && !tc.cut {
				other.End()
				require.Equal(t, tc.removed+1, removes())
			}
		})
	}
}
