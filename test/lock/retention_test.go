package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

const kept = 5 * time.Minute

// retained returns a lock that was locked and unlocked once, and its node.
func (b *bubble) retained(s *zklock.Session) (l *zklock.Locker, node string) {
	b.t.Helper()
	l = b.locker(s, zklock.WithRetention(kept))
	l.Lock()
	node = l.Held().Node()
	l.Unlock()
	synctest.Wait()
	require.Equal(b.t, 1, b.queue(), "the node is kept")
	return l, node
}

func TestWhatNeedsNoConfirmationIsGivenBackUnderAContextThatHasEnded(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		option zklock.Option
		waits  bool // another owner, here
	}{
		"the node is kept": {zklock.WithRetention(kept), false},
		"the node goes on": {zklock.WithHandoff(8), true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("owner"), c.option)
				l.Lock()
				next := make(chan *zklock.Hold, 1)
				if c.waits {
					go func() {
						h, _ := l.Acquire(t.Context())
						next <- h
					}()
					synctest.Wait()
				}
				require.NoError(t, l.UnlockContext(over))
				if c.waits {
					require.NoError(t, (<-next).Release(t.Context()))
				}
			})
		})
	}
}

func TestARetainedLockIsTakenAgainWithoutARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, node := b.retained(b.session("owner"))
		before := b.server.Requests()
		for range 100 {
			l.Lock()
			require.Equal(t, node, l.Held().Node())
			require.True(t, l.Held().Valid())
			l.Unlock()
			require.NoError(t, l.LockContext(t.Context()))
			require.NoError(t, l.UnlockContext(t.Context()))
			require.True(t, l.TryLock())
			l.Unlock()
		}
		synctest.Wait()
		require.Equal(t, before, b.server.Requests())
		require.False(t, b.locker(b.session("other")).TryLock(), "a try sees it as taken, as documented")
	})
}

func TestReleasingAgainIsDoneWhateverBecomesOfTheNodeThatOthersHaveHadSince(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("owner"), zklock.WithRetention(kept))
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Release(t.Context()))
		synctest.Wait()
		require.Equal(t, 1, b.queue(), "the node is kept")
		b.server.Freeze()
		time.Sleep(10 * time.Millisecond)
		next, err := l.Acquire(t.Context())
		require.NoError(t, err)
		next.Check() // whose node is not kept
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, next.Release(ctx), context.DeadlineExceeded)
		again, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, h.Release(again), "released for good, long ago")
		b.server.Thaw()
	})
}

func TestARetainedLockIsTakenAgainWithoutAConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, node := b.retained(b.session("owner"))
		time.Sleep(time.Second)
		place := b.server.Client("owner")
		place.Block(zktest.ToServer)
		place.Cut()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, l.LockContext(ctx))
		require.Equal(t, node, l.Held().Node())
		place.Unblock()
		require.NoError(t, l.UnlockContext(t.Context()))
	})
}
