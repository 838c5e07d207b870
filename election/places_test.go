package election

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestOfElectionsThatAreObservedNoMoreNothingIsKept(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, 4*time.Second, zklock.WithDialer(server.Dial))
		require.NoError(t, err)
		kept := func() map[string]*place {
			synctest.Wait()
			all := client.Kept(client.Of(s), newPlaces)
			all.mu.Lock()
			defer all.mu.Unlock()
			return all.of
		}
		// look observes an election until that has ended.
		look := func(path string) {
			e, err := New(s, path)
			require.NoError(t, err)
			term, err := e.Campaign(t.Context())
			require.NoError(t, err)
			for _, err := range Observe(t.Context(), s, path) {
				if err != nil {
					break
				}
				require.NoError(t, term.Resign(t.Context()))
			}
			_, err = e.Campaign(t.Context()) // so that the watch has told
			require.NoError(t, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		look("/observed")
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range Observe(ctx, s, "/observed") {
			}
		}()
		_, err = s.Conn().Create("/refused", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		require.NoError(t, err)
		for _, err := range Observe(t.Context(), s, "/refused") {
			require.ErrorIs(t, err, zk.ErrNoAuth)
		}
		for i := range 200 {
			look(fmt.Sprint("/over/", i))
			placeOf(client.Of(s), fmt.Sprint("/never/looked/at/", i))
		}
		require.Less(t, len(kept()), 100)
		require.Contains(t, kept(), "/observed")
		stop()
		<-over
		require.NoError(t, s.Close())
		require.Empty(t, kept())
	})
}

// A path that is made anew may give a name once more.
func TestANodeOfTheSameNameIsAnotherLeader(t *testing.T) {
	first, second := &Leadership{Node: "/e/n_0000000001", Token: 1}, &Leadership{Node: "/e/n_0000000001", Token: 2}
	require.True(t, first.same(first))
	require.False(t, first.same(second))
}

func TestALeaderThatIsFirstSeenWithCuratorsMarkIsSeenWhenItHasSaidItAnew(t *testing.T) {
	node := "/e/" + recipe.Stem("8a0e0000-0000-4000-8000-000000000000", recipe.Exclusive) + "0000000001"
	require.Nil(t, leader(node, []byte(recipe.RevokeMark), &zk.Stat{EphemeralOwner: 1}, nil))
}
