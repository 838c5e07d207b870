package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

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

func TestUnlockAfterCloseTellsOfIt(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	require.NoError(t, s.Close())
	require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrClosed)
	require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrNotHeld)
}
