package lock_test

import (
	"context"
	"errors"
	"fmt"
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

func TestAWriterThatHasReadMeanwhileKeepsReadersOutUntilItsOwnLastUnlock(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("here"))
		try := func() bool {
			return <-begin(func() bool {
				ok := rw.TryRLock()
				if ok {
					rw.RUnlock()
				}
				return ok
			})
		}
		rw.Lock()
		rw.Lock()
		rw.RLock()
		require.NoError(t, rw.UnlockContext(t.Context()))
		rw.RUnlock()
		b.lose(rw.Held())
		require.False(t, try())
		require.ErrorIs(t, rw.UnlockContext(t.Context()), zklock.ErrLost)
		require.True(t, try())
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

func TestPermitsOfAContextCountEachAndItsEndOutweighsThem(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		sem := b.semaphore(b.session("here"), 3)
		require.NoError(t, sem.Do(aMinute(t), 1, func(ctx context.Context) error {
			require.NoError(t, sem.Do(ctx, 2, nothing))
			require.ErrorIs(t, errOf(sem.Acquire(ctx, 3)), zklock.ErrDeadlock)
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			for _, err := range []error{errOf(sem.Acquire(ctx, 3)), errOf(sem.TryAcquire(ctx, 3)), sem.Do(ctx, 3, nothing)} {
				require.ErrorIs(t, err, context.Canceled)
				require.NotErrorIs(t, err, zklock.ErrDeadlock)
			}
			return nil
		}))
		for _, size := range []int{0, -1} {
			_, err := zklock.NewSemaphore(b.session("here"), b.path, size)
			require.ErrorContains(t, err, "it must be at least 1")
		}
	})
}

func TestACallTakesAsManyPermitsAsARequestHasRoomForAndSaysHowMany(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		const data = 8000
		sem := b.semaphore(b.session("here"), 1000, zklock.WithData(make([]byte, data)))
		var asked, most int
		_, err := fmt.Sscanf(errors.Unwrap(errOf(sem.Acquire(aMinute(t), 1000))).Error(), "%d permits: one call can take %d at most", &asked, &most)
		require.NoError(t, err)
		require.Equal(t, 1000, asked)
		require.Less(t, most*data, 1<<20, "what a server takes")
		require.NoError(t, sem.Do(aMinute(t), most, nothing))
		require.ErrorContains(t, errOf(sem.Acquire(aMinute(t), most+1)), "one call can take")
	})
}

func TestATryEndsAtOnceWithoutAConnectionAndElseWithinAThirdOfTheSessionTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		l, rw := b.locker(s), must(zklock.NewRW(s, "/rw"))
		for _, try := range []func() bool{l.TryLock, rw.TryLock, rw.TryRLock} {
			b.server.Client("here").Block(zktest.ToClient)
			began := time.Now()
			require.False(t, try())
			require.LessOrEqual(t, time.Since(began), longSession/3)
			b.server.Client("here").Unblock()
			time.Sleep(longSession)
		}
		b.cutFor(time.Second)
		began := time.Now()
		for _, try := range []func() bool{l.TryLock, rw.TryLock, rw.TryRLock} {
			require.False(t, try())
		}
		require.Equal(t, began, time.Now())
	})
}

func TestATryForATimeTakesNoMoreOfItAndAsksNothingOfItsContextOnceItHasTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("here"))
		for _, d := range []time.Duration{0, 1, time.Hour} {
			ok, err := l.TryLockFor(done(), d)
			require.False(t, ok)
			require.ErrorIs(t, err, context.Canceled)
			_, err = new(zklock.Locker).TryLockFor(done(), d)
			require.ErrorContains(t, err, "make it with New")
		}
		for _, d := range []time.Duration{0, time.Hour} {
			ok, err := l.TryLockFor(hookedCtx{t.Context(), func() { require.Zero(t, l.HoldCount()) }}, d)
			require.NoError(t, err)
			require.True(t, ok)
			l.Unlock()
		}
		b.cutFor(time.Second)
		began := time.Now()
		ok, err := l.TryLockFor(t.Context(), 1)
		require.NoError(t, err)
		require.False(t, ok)
		require.Equal(t, began.Add(1), time.Now())
	})
}

// Whose hold was lost, and who of the two unlocks, is not known.
func TestAnOwnerlessReaderThatHasLostTheLockIsNotToldThatItHasItAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("here"), zklock.WithoutOwner())
		rw.RLock()
		lost := rw.RHeld()
		b.lose(lost)
		rw.RLock()
		require.False(t, rw.RHeld().Valid())
		rw.RUnlock()
		require.True(t, isClosed(rw.RLost()))
		require.False(t, rw.RHeld().Valid())
		rw.RLock()
		require.ErrorIs(t, rw.RHeld().Err(), zklock.ErrLost)
		rw.RUnlock()
		rw.RUnlock()
		require.Nil(t, rw.RHeld())
		rw.RLock()
		require.True(t, rw.RHeld().Valid(), "nobody has read meanwhile")
		rw.RLock()
		require.True(t, rw.RHeld().Valid())
		rw.RUnlock()
		require.True(t, rw.RHeld().Valid(), "what was given back was not lost")
		rw.RUnlock()
	})
}
