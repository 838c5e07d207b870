package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestTheEndOfItsSessionEndsAHold(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l, next := at.locker(s), at.stranger()
	l.Lock()
	h, lost, ctx := l.Held(), l.Lost(), l.Held().Context()
	require.False(t, isClosed(lost))
	got := lockElsewhere(next)
	at.awaitQueue(2)

	at.kill(s)
	receive(t, lost, "the loss")
	require.ErrorIs(t, h.Err(), zklock.ErrLost)
	require.False(t, h.Valid())
	require.ErrorIs(t, context.Cause(ctx), zklock.ErrLost)
	require.ErrorIs(t, h.Release(t.Context()), zklock.ErrLost)
	require.NoError(t, receive(t, got, "the next one's turn"))
	require.Equal(t, 1, l.HoldCount(), "its owner has not unlocked it yet")
	l.Unlock()
	require.Zero(t, l.HoldCount())
	require.Panics(t, l.Unlock)
}

func TestALostHoldIsNeverTakenAgainUnderItsOwner(t *testing.T) {
	at := newSite(t)
	s := at.session()
	acquired := make(chan zklock.TraceInfo, 2)
	l := at.locker(s, zklock.WithTrace(&zklock.Trace{Acquired: func(i zklock.TraceInfo) { acquired <- i }}))
	l.Lock()
	first := receive(t, acquired, "the owner's turn")
	lost := l.Lost()
	at.kill(s)
	receive(t, lost, "the loss")

	require.ErrorIs(t, l.LockContext(t.Context()), zklock.ErrLost)
	require.False(t, l.TryLock())
	ok, err := l.TryLockFor(t.Context(), time.Second)
	require.ErrorIs(t, err, zklock.ErrLost)
	require.False(t, ok)
	err = panicOf(t, l.Lock)
	require.ErrorIs(t, err, zklock.ErrLost)
	require.ErrorContains(t, err, at.path)
	require.Equal(t, 1, l.HoldCount())

	h, err := l.Acquire(within(t, patience))
	require.NoError(t, err, "a handle does not wait for the owner's Unlock")
	require.NoError(t, h.Release(t.Context()))
	receive(t, acquired, "the handle")

	// Others have to wait for the owner, although ZooKeeper gives them the lock.
	got := begin(func() error {
		defer l.Unlock()
		return l.LockContext(context.Background())
	})
	second := receive(t, acquired, "ZooKeeper's grant to another goroutine")
	require.Greater(t, second.Token, first.Token)
	requireSilent(t, got, "the owner has not unlocked")
	elsewhere(func() { require.False(t, l.TryLock()) })
	l.Unlock()
	require.NoError(t, receive(t, got, "the other goroutine's turn"))
	l.Lock()
	at.requireHeld(l.Held(), s)
	l.Unlock()
}

func TestAWaiterWhoseSessionEndsQueuesAgain(t *testing.T) {
	waits := map[string]func(l *zklock.Locker) error{
		"Lock":        lock,
		"LockContext": func(l *zklock.Locker) error { return l.LockContext(context.Background()) },
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			holder, s := at.stranger(), at.session()
			l := at.locker(s)
			holder.Lock()
			got := begin(func() *zklock.Hold {
				if err := wait(l); err != nil {
					t.Error(err)
				}
				return l.Held()
			})
			before := at.awaitQueue(2)
			at.kill(s)
			eventually(t, "the waiter to queue again", func() bool {
				now := at.queue()
				return len(now) == 2 && now[1] != before[1]
			})
			requireSilent(t, got, "the lock is still held")
			holder.Unlock()
			at.requireHeld(receive(t, got, "the lock"), s)
		})
	}
}

func TestUnlockAfterCloseTellsOfIt(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	require.NoError(t, s.Close())
	require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrClosed)
	require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrNotHeld)
}
