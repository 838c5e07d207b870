package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
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
			givenTime(t, isLocked, func(ctx context.Context) error {
				err := wait(ctx)
				require.ErrorContains(t, err, at.path)
				return err
			})
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
	for _, tryFor := range []func(context.Context, time.Duration) (bool, error){l.TryLockFor, must(zklock.NewMulti(l)).TryLockFor} {
		for _, d := range []time.Duration{0, time.Second} {
			ok, err := tryFor(done(), d)
			require.ErrorIs(t, err, context.Canceled)
			require.False(t, ok)
		}
	}
	require.Equal(t, 1, l.HoldCount())
}

// The server answers nothing: each call ends with its context all the same, and what it asked
// for is undone when the answers come.
func TestCallsEndWithTheirContextsWhileTheServerHangs(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l, held := at.stranger(), at.stranger()
	held.Lock()
	var creates atomic.Int32
	at.proxy.OnRequest(func(op int32, _ []byte) {
		if op == faultproxy.OpCreate {
			creates.Add(1)
		}
	})
	asked := func(n int32) func(error) bool { return func(error) bool { return creates.Load() >= n } }

	at.proxy.Freeze(faultproxy.ServerToClient)
	givenTime(t, asked(1), l.LockContext)
	givenTime(t, asked(1), held.UnlockContext)
	require.Nil(t, held.Held())
	for limit := aWhile; !asked(2)(nil); limit *= 2 {
		began := time.Now()
		ok, err := l.TryLockFor(t.Context(), limit)
		require.Less(t, time.Since(began), limit+prompt)
		require.NoError(t, err)
		require.False(t, ok)
	}
	made := int(creates.Load())
	at.awaitQueue(made) // the server made the nodes, and they stay as long as we do not know

	at.proxy.Thaw(faultproxy.ServerToClient)
	at.awaitQueue(0)
	require.Equal(t, 2*(1+made), at.childWrites(), "each node came and went")
}
