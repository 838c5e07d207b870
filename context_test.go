package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
)

func TestADeadlineInTheQueueSaysThatTheLockIsHeld(t *testing.T) {
	at := newSite(t)
	holder, l := at.stranger(), at.stranger()
	holder.Lock()
	waits := map[string]func(ctx context.Context) error{
		"lock": l.LockContext,
		"acquire": func(ctx context.Context) error {
			_, err := l.Acquire(ctx)
			return err
		},
		"do": func(ctx context.Context) error {
			return l.Do(ctx, func(context.Context) error { return errors.New("it ran") })
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			err := wait(within(t, time.Second)) // long enough to reach the queue
			require.ErrorIs(t, err, zklock.ErrLocked)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, at.path)
			at.awaitQueue(1)
		})
	}
}

func TestAContextThatIsDoneNeverAcquires(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l := at.stranger()
	before := at.childWrites()
	for range 20 {
		require.ErrorIs(t, l.LockContext(done()), context.Canceled)
		_, err := l.Acquire(done())
		require.ErrorIs(t, err, context.Canceled)
		_, err = l.TryAcquire(done())
		require.ErrorIs(t, err, context.Canceled)
		ok, err := l.TryLockFor(done(), time.Second)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, ok)
		require.ErrorIs(t, l.Do(done(), func(context.Context) error { panic("it ran") }), context.Canceled)
	}
	require.Nil(t, l.Held())
	require.Equal(t, before, at.childWrites())

	l.Lock()
	require.ErrorIs(t, l.LockContext(done()), context.Canceled, "not even by its owner")
	for _, tryFor := range []func(context.Context, time.Duration) (bool, error){l.TryLockFor, zklock.NewMulti(l).TryLockFor} {
		for _, d := range []time.Duration{0, time.Second} {
			ok, err := tryFor(done(), d)
			require.ErrorIs(t, err, context.Canceled)
			require.False(t, ok)
		}
	}
	require.Equal(t, 1, l.HoldCount())
}

func TestAContextThatIsDoneDoesRelease(t *testing.T) {
	at := newSite(t)
	l := at.stranger()
	for range 10 {
		l.Lock()
		if err := l.UnlockContext(done()); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Nil(t, l.Held())
		at.awaitQueue(0)

		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		if err := h.Release(done()); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		require.ErrorIs(t, h.Err(), zklock.ErrReleased)
		at.awaitQueue(0)
		require.NoError(t, h.Release(t.Context()))
	}
}

func TestDoReleasesWhenItsContextEndsMeanwhile(t *testing.T) {
	at := newSite(t)
	l := at.stranger()
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, l.Do(ctx, func(context.Context) error {
		cancel()
		return nil
	}))
	at.awaitQueue(0)
}

// The server answers nothing: each call ends with its context all the same, and
// what it asked for is undone when the answers come.
func TestCallsEndWithTheirContextsWhileTheServerHangs(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l, held := at.stranger(), at.stranger()
	held.Lock()

	at.proxy.Freeze(faultproxy.ServerToClient)
	began := time.Now()
	require.ErrorIs(t, l.LockContext(within(t, aWhile)), context.DeadlineExceeded)
	require.ErrorIs(t, held.UnlockContext(within(t, aWhile)), context.DeadlineExceeded)
	require.Nil(t, held.Held())
	ok, err := l.TryLockFor(t.Context(), aWhile)
	require.NoError(t, err)
	require.False(t, ok)
	require.Less(t, time.Since(began), prompt)
	require.Len(t, at.awaitQueue(2), 2, "the server made the nodes")

	at.proxy.Thaw(faultproxy.ServerToClient)
	at.awaitQueue(0)
	require.Equal(t, 6, at.childWrites(), "three nodes came and went")
}
