package client

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
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

func TestASubtreeIsNotWatchedByAServerThatDoesNotKnowHowOrInVain(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		held := server.HoldReply(zktest.OpAddWatch)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.WatchSubtree(ctx, "/")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, c.subtrees.all)
		synctest.Wait()
		require.Equal(t, 1, c.cleanups.count)
		held.Release()
		synctest.Wait()
		require.Zero(t, c.cleanups.count)
		require.Equal(t, 1, server.Requests()[zktest.OpRemoveWatches], "it may have been set")

		server.RefuseRequest(zktest.OpAddWatch, int32(wire.ErrUnimplemented))
		for range 2 {
			_, err = c.WatchSubtree(t.Context(), "/")
			require.Equal(t, wire.ErrUnimplemented, err)
			require.Empty(t, c.subtrees.all)
		}
		c.subtrees.unknown.Store(false)
		pass(time.Second) // there is a connection again
		c.life.end()
		_, err = c.WatchSubtree(t.Context(), "/")
		require.Equal(t, zk.ErrConnectionClosed, err)
		require.Equal(t, 2, server.Requests()[zktest.OpAddWatch], "it is asked once, and by nobody who is closed")
	})
	c := unconnected(t, slog.New(slog.DiscardHandler))
	_, err := c.WatchSubtree(t.Context(), "/")
	require.Equal(t, zk.ErrConnectionClosed, err)
}

func TestOfASubtreeIsToldWhatHasChangedAtItOrBelow(t *testing.T) {
	for name, tc := range map[string]struct {
		path string
		told map[string]bool
	}{
		"of a node":   {"/a", map[string]bool{"/a": false, "/a/b": true}},
		"of the root": {"/", map[string]bool{"/": false, "/a": false, "/a/b": true, "/ab": false}},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			w := &Subtree{path: tc.path, some: make(chan struct{}, 1), changed: make(map[string]bool)}
			all := subtrees{all: map[*Subtree]struct{}{w: {}}}
			all.note(zk.Event{Type: zk.EventNodeChildrenChanged, Path: "/a"})
			require.Empty(t, w.Some())
			for path, kind := range map[string]zk.EventType{
				"/": zk.EventNodeDataChanged, "/a": zk.EventNodeCreated, "/a/b": zk.EventNodeDeleted, "/ab": zk.EventNodeCreated,
			} {
				all.note(zk.Event{Type: kind, Path: path})
			}
			<-w.Some()
			require.Equal(t, tc.told, w.Take())
			require.Empty(t, w.Take(), "it is told once")
		})
	}
}
