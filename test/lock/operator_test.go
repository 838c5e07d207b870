package lock_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

// remove deletes a lock node as an operator would.
func (at *site) remove(node string) {
	at.t.Helper()
	require.NoError(at.t, at.conn.Delete(node, -1))
}

func TestAHoldWhoseNodeIsDeletedIsLost(t *testing.T) {
	at := newSite(t)
	s := at.sessionVia(at.proxy.Addr(), 10*longSession) // the next proof of life comes late
	l := at.locker(s)
	for _, waits := range []bool{false, true} {
		l.Lock()
		h := l.Held()
		if waits { // for the watch on the node; otherwise that comes too late
			eventually(t, "the hold to watch its node", func() bool { return at.watched(h.Node()) })
		}
		id := s.ID()
		removed := time.Now()
		at.remove(h.Node())
		receive(t, l.Lost(), "the loss")
		require.Less(t, time.Since(removed), prompt)
		require.ErrorIs(t, h.Err(), zklock.ErrLost)
		require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrLost)
		require.Equal(t, id, s.ID(), "the session lives on")
	}
	l.Lock()
	at.requireHeld(l.Held(), s)
	l.Unlock()
}

func TestAHoldWhoseNodeIsDeletedIsValidUntilTheNewsArrives(t *testing.T) {
	at := newSite(t)
	h, err := at.locker(at.sessionVia(at.proxy.Addr(), 10*longSession)).Acquire(t.Context())
	require.NoError(t, err)
	at.proxy.Freeze(faultproxy.Both)
	at.remove(h.Node())
	require.True(t, h.Valid())
	at.proxy.Thaw(faultproxy.Both)
	receive(t, h.Lost(), "the loss")
	require.False(t, h.Valid())
}

// A copy of the queue from a backup, say, while the holder's own watch does not stand.
func TestAHoldWhoseNodeIsReplacedIsLost(t *testing.T) {
	for name, cutOff := range map[string]bool{"while it is cut off": true, "before it is watched": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				op := b.session("operator").Conn()
				holder, waiter := b.locker(b.session("holder")), b.locker(b.session("waiter"))
				h := must(holder.Acquire(t.Context()))
				got := begin(func() *zklock.Hold { return must(waiter.Acquire(t.Context())) })
				place := b.server.Client("holder")
				if time.Sleep(10 * time.Millisecond); cutOff {
					time.Sleep(time.Second)
					place.Block(zktest.ToServer)
					place.Cut()
				}
				require.NoError(t, op.Delete(h.Node(), -1))
				must(op.Create(h.Node(), nil, 0, zk.WorldACL(zk.PermAll)))
				next := <-got
				place.Unblock()
				time.Sleep(time.Second)
				require.ErrorIs(t, h.Err(), zklock.ErrLost)
				require.True(t, next.Valid())
			})
		})
	}
}

func TestTheQueueMovesOnWhenTheHoldersNodeIsDeleted(t *testing.T) {
	at := newSite(t)
	holder, s := at.stranger(), at.session()
	holder.Lock()
	got := at.acquire(s)
	at.remove(at.awaitQueue(2)[0])
	at.requireHeld(receive(t, got, "the waiter's turn"), s)
	receive(t, holder.Lost(), "the loss")
	require.NotPanics(t, holder.Unlock)
	require.Len(t, at.queue(), 1, "the late Unlock deletes nothing of others")
}

func TestTheLockIsMadeAnewWhenAnOperatorDeletesItAll(t *testing.T) {
	at := newSite(t)
	holder, s := at.stranger(), at.session()
	holder.Lock()
	token := holder.Held().Token()
	got := at.acquire(s)
	queue := at.awaitQueue(2)
	_, err := at.conn.Multi( // the waiter's node first, or the lock would be its own for a moment
		&zk.DeleteRequest{Path: queue[1], Version: -1},
		&zk.DeleteRequest{Path: queue[0], Version: -1},
		&zk.DeleteRequest{Path: at.path, Version: -1})
	require.NoError(t, err)
	receive(t, holder.Lost(), "the loss")
	h := receive(t, got, "the waiter's turn")
	at.requireHeld(h, s)
	require.Greater(t, h.Token(), token)
	holder.Unlock()
}
