package lock_test

import (
	"context"
	"errors"
	"path"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A latecomer has the lock's node already, and waits for an owner of its own process that has lost the lock.

// lose has the calling goroutine's hold end by an operator's hand.
func (b *bubble) lose(h *zklock.Hold) {
	b.t.Helper()
	time.Sleep(time.Second) // until the node is watched
	operator := b.session("operator")
	require.NoError(b.t, operator.Conn().Delete(h.Node(), -1))
	require.NoError(b.t, operator.Close())
	<-h.Lost()
}

// latecomer locks l under ctx, in a goroutine of its own, behind the caller, who has lost it.
func (b *bubble) latecomer(ctx context.Context, l *zklock.Locker, then func()) <-chan error {
	b.t.Helper()
	l.Lock()
	b.lose(l.Held())
	ended := make(chan error, 1)
	go func() {
		err := errors.New("the test has failed")
		defer func() { ended <- err }()
		if err = l.LockContext(ctx); err == nil {
			defer l.Unlock()
			then()
		}
	}()
	time.Sleep(time.Second)
	require.Equal(b.t, 1, b.queue(), "it waits for the owner alone")
	require.Empty(b.t, ended)
	return ended
}

func TestALatecomerKeepsTheLockFromOthersAsAnyOwnerDoesAndNoLonger(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("here"))
		try := func() bool { return <-begin(l.TryLock) }
		var waited []string
		ended := b.latecomer(t.Context(), l, func() {
			require.Equal(t, waited, []string{path.Base(l.Held().Node())}, "it keeps its place")
			require.False(t, try())
			b.lose(l.Held())
			written := b.server.Requests()[zktest.OpCreate]
			require.False(t, try())
			require.Equal(t, written, b.server.Requests()[zktest.OpCreate], "nothing is written in vain")
		})
		waited = b.server.Children(b.path)
		l.Unlock()
		require.NoError(t, <-ended)
		require.True(t, l.TryLock())
		l.Unlock()
	})
}

func TestALatecomerThatGivesUpLeavesNothing(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("here"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		ended := b.latecomer(ctx, l, func() {})
		err := <-ended
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, zklock.ErrLocked, "it was in the queue")
		time.Sleep(time.Second)
		require.Zero(t, b.queue())
		l.Unlock()
		require.True(t, l.TryLock())
		l.Unlock()

		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		ended = b.latecomer(ctx, l, func() { t.Error("nobody has confirmed its node") })
		b.server.Freeze()
		l.Unlock()
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		b.server.Thaw()
	})
}

func TestALatecomerIsToldOnceThatTheSessionIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var told atomic.Int32
		s := b.session("here")
		l := b.locker(s, zklock.WithTrace(&zklock.Trace{Failed: func(zklock.TraceInfo) { told.Add(1) }}))
		ended := b.latecomer(t.Context(), l, func() {})
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-ended, zklock.ErrClosed)
		require.EqualValues(t, 1, told.Load())
		require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrLost)
	})
}

func TestALatecomerIsNotGivenANodeThatWasDeletedBeforeAnythingWatchedIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, operator := b.locker(b.session("here")), b.session("operator")
		l.Lock()
		b.lose(l.Held())
		taken := begin(func() string {
			l.Lock()
			defer l.Unlock()
			return l.Held().Node()
		})
		synctest.Wait()
		deleted := b.path + "/" + b.server.Children(b.path)[0]
		require.NoError(t, operator.Conn().Delete(deleted, -1))
		l.Unlock()
		require.NotEqual(t, deleted, <-taken)
	})
}

// alien is a context that package context does not know: each child of it costs a goroutine.
type alien struct {
	context.Context
	done chan struct{}
}

func (a *alien) Done() <-chan struct{} { return a.done }

func (a *alien) Err() error {
	if isClosed(a.done) {
		return context.Canceled
	}
	return nil
}

func TestALatecomerWhoseNodeIsDeletedStandsInTheQueueAgainAndLeavesNothingAtItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("here"))
		ctx := &alien{Context: context.Background(), done: make(chan struct{})} // a goroutine that is left is the bubble's deadlock
		ended := b.latecomer(ctx, l, func() {})
		for range 3 {
			node := b.server.Children(b.path)[0]
			operator := b.session("operator")
			require.NoError(t, operator.Conn().Delete(b.path+"/"+node, -1))
			time.Sleep(time.Second)
			require.Equal(t, 1, b.queue())
			require.NotEqual(t, node, b.server.Children(b.path)[0])
		}
		l.Unlock()
		require.NoError(t, <-ended)
	})
}

// Whenever the try looks at its context and has no node yet.
func TestATryBehindWhichAnotherLocksAndLosesTheLockFailsAndLeavesNothing(t *testing.T) {
	asked := 1
	for at := 1; at <= asked; at++ {
		inBubble(t, func(t *testing.T, b *bubble) {
			l := b.locker(b.session("here"), zklock.WithoutOwner())
			lost := false
			asked = 0
			ok, err := l.TryLockFor(hookedCtx{t.Context(), func() {
				if asked++; asked == at && l.LockContext(within(t, time.Second)) == nil {
					b.lose(l.Held())
					lost = true
				}
			}}, 0)
			require.NoError(t, err)
			require.NotEqual(t, lost, ok)
			time.Sleep(time.Second)
			if lost {
				require.Zero(t, b.queue())
			}
			l.Unlock()
			require.True(t, l.TryLock())
			l.Unlock()
		})
	}
}
