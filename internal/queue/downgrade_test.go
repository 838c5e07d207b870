package queue

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/zktest"
)

// writing takes a lock for writing, and returns the queue for reading it.
func writing(t *testing.T, s *Session, o Options) (*Hold, *Queue) {
	t.Helper()
	q := New(s, "/lock", recipe.Write, o)
	h, err := q.Acquire(t.Context(), nil)
	require.NoError(t, err)
	return h, q.Of(recipe.Read)
}

// The writer's node may have the mark of somebody who asks for the lock.
func TestTheNodeOfADowngradeIsAsTheUserWantsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		o := defaults()
		o.Data, o.ACL = []byte("host-a"), zk.WorldACL(zk.PermRead|zk.PermWrite)
		_, err := s.client.Conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		w, readers := writing(t, s, o)
		_, err = s.client.Conn.Set(w.Node(), []byte(recipe.RevokeMark), -1)
		require.NoError(t, err)
		time.Sleep(time.Second) // the mark is seen
		r, err := readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
		require.True(t, latch.IsClosed(r.Revoked()))
		for _, node := range server.Nodes() {
			if node.Path == r.Node() {
				require.Equal(t, o.Data, node.Data)
				require.Equal(t, []zktest.ACL{{Perms: zk.PermRead | zk.PermWrite, Scheme: "world", ID: "anyone"}}, node.ACL)
				return
			}
		}
		require.Fail(t, "there is no node of the reader")
	})
}

func TestADowngradeOfAWriterWhoseNodeIsGoneSaysThatTheLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		w, readers := writing(t, s, defaults())
		require.NoError(t, connect(t, server).client.Conn.Delete(w.Node(), -1))
		r, err := readers.Downgrade(t.Context(), w, nil)
		require.ErrorIs(t, err, ErrLost)
		require.NotErrorIs(t, err, zk.ErrNoNode)
		require.Nil(t, r)
	})
}

// Who tries again and again on a server that hangs would pile up what has yet to be cleaned up.
func TestADowngradeWaitsWhileTooMuchIsLeftByCallsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		w, readers := writing(t, s, defaults())
		cleaned := make(chan struct{})
		clean := sync.OnceFunc(func() { close(cleaned) })
		defer clean()
		for s.client.MakeRoom(overCtx(t)) == nil {
			s.client.CleanUp(func() { <-cleaned })
		}
		nodes := func() int32 {
			synctest.Wait()
			return server.Nodes()[0].Stat.Cversion // of /lock
		}
		before := nodes()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := readers.Downgrade(ctx, w, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, before, nodes())
		clean()
		_, err = readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
	})
}

// overCtx returns a context that has ended.
func overCtx(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Nobody is to be told of a call that gets nowhere when it is over.
func TestTheLogTellsOfNoCallThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		var log bytes.Buffer // a handler writes one line at a time
		s := connectBy(t, server, new(clock.Clock), sessionTimeout,
			client.Options{Dialer: server.Dial, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w, readers := writing(t, s, defaults())
		_, err := readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
		time.Sleep(10 * sessionTimeout)
		s.end()
		require.NotContains(t, log.String(), "gets nowhere")
	})
}
