package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// What a reader may count on, and an owner of permits.

func TestAReaderIsToldOfItsMisuseAndOfItsLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("here"))
		require.Nil(t, rw.RHeld())
		require.True(t, isClosed(rw.RLost()))
		require.ErrorIs(t, panicOf(t, rw.RUnlock), zklock.ErrNotHeld)
		require.ErrorIs(t, rw.RUnlockContext(t.Context()), zklock.ErrNotHeld)
		rw.RLock()
		elsewhere(func() {
			require.Nil(t, rw.RHeld())
			require.ErrorIs(t, panicOf(t, rw.RUnlock), zklock.ErrNotHeld)
		})
		require.False(t, rw.TryLock())
		ok, err := rw.TryLockFor(t.Context(), time.Hour)
		require.False(t, ok)
		require.ErrorIs(t, err, zklock.ErrUpgrade)
		b.lose(rw.RHeld())
		require.ErrorIs(t, rw.RLockContext(t.Context()), zklock.ErrLost)
		require.False(t, rw.TryRLock())
		require.False(t, rw.TryLock())
		require.ErrorIs(t, rw.RUnlockContext(t.Context()), zklock.ErrLost)
		require.Nil(t, rw.RHeld(), "what failed has locked nothing once more")
		require.True(t, rw.TryLock())
		rw.Unlock()
	})
}

// An owner that reads on keeps its share of the lock in its process even if that is lost.
func TestWhoeverReadsOnAfterADowngradeKeepsWritersOutUntilItsLastUnlock(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("here"))
		try := func(try func() bool, unlock func()) bool {
			return <-begin(func() bool {
				ok := try()
				if ok {
					unlock()
				}
				return ok
			})
		}
		for range 2 {
			rw.Lock()
			rw.RLock()
			rw.RLock()
			rw.Unlock()
			require.True(t, try(rw.TryRLock, rw.RUnlock), "readers share it")
			rw.RUnlock()
			b.lose(rw.RHeld())
			written := b.server.Requests()[zktest.OpCreate]
			require.False(t, try(rw.TryLock, rw.Unlock))
			require.Equal(t, written, b.server.Requests()[zktest.OpCreate], "nothing is written in vain")
			require.True(t, try(rw.TryRLock, rw.RUnlock))
			rw.RUnlock()
			time.Sleep(time.Second)
			require.True(t, try(rw.TryLock, rw.Unlock))
		}
	})
}

func TestPermitsThatNoCallCanTakeAreRefusedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		few, many := b.semaphore(b.session("here"), 2), must(zklock.NewSemaphore(b.session("here"), "/many", 2000))
		for n, sem := range map[int]*zklock.Semaphore{0: few, -1: few, 3: few, 1001: many} {
			for _, err := range []error{
				errOf(sem.Acquire(aMinute(t), n)), errOf(sem.TryAcquire(aMinute(t), n)), sem.Do(aMinute(t), n, nothing),
			} {
				require.ErrorContains(t, err, "permits: ", n)
				require.NotErrorIs(t, err, zklock.ErrLocked)
			}
		}
		require.Empty(t, b.server.Children(b.path), "nothing is written")
		for n, sem := range map[int]*zklock.Semaphore{1: few, 2: few, 1000: many} {
			require.NoError(t, sem.Do(aMinute(t), n, nothing))
		}
	})
}
