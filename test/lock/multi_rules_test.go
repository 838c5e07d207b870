package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/zktest"
)

// What an owner may count on, of one lock and of several.

func TestOnlyTheOwnerUndoesItsLocksAndALossIsNeverLockedOnceMore(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		l := b.locker(s)
		require.ErrorContains(t, l.UnlockContext(t.Context()), "no goroutine owns it")
		for range 3 {
			l.Lock()
		}
		owner := goid.Get()
		elsewhere(func() {
			err := panicOf(t, l.Unlock)
			require.ErrorIs(t, err, zklock.ErrNotHeld)
			require.Regexp(t, `goroutine \d+ owns it`, err.Error())
			require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrNotHeld)
		})
		require.Equal(t, owner, goid.Get())
		require.Equal(t, 3, l.HoldCount())
		b.lose(l.Held())
		require.ErrorIs(t, lock(l), zklock.ErrLost)
		require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrLost)
		require.Equal(t, 2, l.HoldCount(), "what failed has locked nothing once more")
		l.Unlock()
		l.Unlock()
		require.Zero(t, l.HoldCount())

		l.Lock()
		l.Lock()
		require.NoError(t, s.Close())
		require.ErrorIs(t, lock(l), zklock.ErrClosed)
		for left := 1; left >= 0; left-- {
			err := l.UnlockContext(t.Context())
			require.ErrorIs(t, err, zklock.ErrLost)
			require.ErrorIs(t, err, zklock.ErrClosed)
			require.Equal(t, left, l.HoldCount())
		}
	})
}

// Its errors are told once, and those of its function as they are.
func TestDoSaysOnceWhatHasFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		_, err := s.Conn().Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll&^zk.PermDelete))
		require.NoError(t, err)
		broken := errors.New("the job broke")
		require.ErrorIs(t, b.locker(s).Do(t.Context(), nothing), zk.ErrNoAuth, "the release was refused")
		free := must(zklock.New(s, "/free"))
		require.Equal(t, broken, free.Do(t.Context(), func(context.Context) error { return broken }))
		err = free.Do(t.Context(), func(ctx context.Context) error { b.lose(zklock.HoldFrom(ctx)); return nil })
		require.ErrorIs(t, err, zklock.ErrLost)
		require.NotContains(t, err.Error(), "the function returned")
		require.Equal(t, 1, strings.Count(err.Error(), "/free: "), err)
		err = free.Do(t.Context(), func(ctx context.Context) error { b.lose(zklock.HoldFrom(ctx)); return broken })
		require.ErrorIs(t, err, zklock.ErrLost)
		require.ErrorIs(t, err, broken)
		for _, under := range []func(ctx context.Context) error{
			context.Cause,
			func(ctx context.Context) error { return b.locker(s).LockContext(ctx) },
		} {
			err = free.Do(t.Context(), func(ctx context.Context) error { b.lose(zklock.HoldFrom(ctx)); return under(ctx) })
			require.ErrorIs(t, err, zklock.ErrLost)
			require.Equal(t, 1, strings.Count(err.Error(), "/free: "), err)
			require.Equal(t, 1, strings.Count(err.Error(), "lock was lost: "), err)
			require.NotContains(t, err.Error(), "the function returned: lock was lost")
			err = must(zklock.NewMulti(free, must(zklock.New(s, "/other")))).Do(t.Context(), func(ctx context.Context) error {
				b.lose(zklock.HoldFrom(ctx))
				return under(ctx)
			})
			require.ErrorIs(t, err, zklock.ErrLost)
			require.Equal(t, 1, strings.Count(err.Error(), "lock was lost: "), err)
		}
	})
}

func TestADeadlockIsAnUpgradeForReadersAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		l, rw := b.locker(s), must(zklock.NewRW(s, "/rw"))
		ctx, cancel := context.WithCancel(must(l.Acquire(t.Context())).Context())
		require.ErrorIs(t, l.LockContext(ctx), zklock.ErrDeadlock)
		require.NotErrorIs(t, l.LockContext(ctx), zklock.ErrUpgrade)
		reading := must(rw.RAcquire(ctx)).Context()
		require.ErrorIs(t, rw.LockContext(reading), zklock.ErrUpgrade)
		require.ErrorIs(t, rw.LockContext(reading), zklock.ErrDeadlock)
		cancel()
		for _, err := range []error{l.LockContext(ctx), errOf(l.Acquire(ctx)), l.Do(ctx, nothing)} {
			require.ErrorIs(t, err, context.Canceled)
			require.NotErrorIs(t, err, zklock.ErrDeadlock, "the end of the context outweighs what it carries")
		}
	})
}

func TestAMultiLockersChannelTellsOfALossAsLongAsAnyOfItsHoldsLasts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		parts := (&site{t: t, path: b.path}).lockers(b.session("here"), 2)
		m := must(zklock.NewMulti(parts...))
		m.Lock()
		before := m.Lost()
		for range 2 {
			parts[1].Unlock()
			parts[1].Lock()
			m.Lock()
			require.Equal(t, 2, m.HoldCount())
			m.Unlock()
			require.False(t, isClosed(m.Lost()))
		}
		require.NoError(t, b.session("operator").Conn().Delete(parts[0].Held().Node(), -1))
		<-m.Lost()
		require.True(t, isClosed(before))

		parts[0].Unlock()
		parts[0].Lock()
		released := m.Lost()
		require.False(t, isClosed(released), "what it has held since is held")
		m.Unlock()
		m.Lock()
		require.NoError(t, b.session("operator").Conn().Delete(parts[0].Held().Node(), -1))
		<-m.Lost()
		require.False(t, isClosed(released), "of those that were released none was lost")
		m.Unlock()

		m.Lock()
		released = m.Lost()
		for _, l := range parts {
			l.Unlock()
			l.Lock()
		}
		later := m.Lost()
		b.lose(parts[0].Held())
		<-later
		require.False(t, isClosed(released), "nor of those that were released one by one")
		m.Unlock()
	})
}

func TestAMultiLockerIsOwnedByWhoOwnsAllItsLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		parts := (&site{t: t, path: b.path}).lockers(b.session("here"), 3)
		m := must(zklock.NewMulti(parts...))
		for missing := range parts {
			for i, l := range parts {
				if i != missing {
					l.Lock()
				}
			}
			require.True(t, isClosed(m.Lost()))
			require.Zero(t, m.HoldCount())
			require.ErrorIs(t, panicOf(t, m.Unlock), zklock.ErrNotHeld)
			require.ErrorIs(t, m.UnlockContext(t.Context()), zklock.ErrNotHeld)
			for i, l := range parts {
				if i != missing {
					require.Equal(t, 1, l.HoldCount(), "it leaves all as it is")
					l.Unlock()
				}
			}
		}
		for _, more := range parts {
			m.Lock()
			more.Lock()
			require.Equal(t, 1, m.HoldCount())
			require.False(t, isClosed(m.Lost()))
			require.Equal(t, m.Lost(), m.Lost(), "one channel, however often it is asked for")
			more.Unlock()
			m.Unlock()
		}
	})
}

func TestATryOfAMultiLockerEndsWithTheShortestOfItsLocksTries(t *testing.T) {
	const shortest = 3 * time.Second
	for name, paths := range map[string][]string{"first": {"/1", "/2", "/3"}, "between": {"/2", "/1", "/3"}, "last": {"/3", "/2", "/1"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var parts []*zklock.Locker
				for i, timeout := range []time.Duration{shortest, 2 * shortest, 3 * shortest} {
					s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, timeout, zklock.WithDialer(b.server.Client("here").Dial))
					require.NoError(t, err)
					require.Equal(t, timeout, s.Timeout())
					t.Cleanup(func() { s.Close() })
					parts = append(parts, must(zklock.New(s, paths[i])))
				}
				b.server.Client("here").Block(zktest.ToClient)
				began := time.Now()
				require.False(t, must(zklock.NewMulti(parts...)).TryLock())
				require.Equal(t, shortest/3, time.Since(began), "a third of the shortest session timeout")
			})
		})
	}
}

// Only LockContext is reentrant.
func TestAHandleOfAMultiLockerThatItsCallersContextKeepsItFromIsRefusedBeforeAnyWait(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		parts := at.lockers(b.session("here"), 2)
		theirs := at.lockers(b.session("there"), 1)[0]
		elsewhere(theirs.Lock)
		parts[1].Lock()
		defer parts[1].Unlock()
		ctx, cancel := context.WithTimeout(parts[1].Held().Context(), time.Minute)
		defer cancel()
		m, began := must(zklock.NewMulti(parts...)), time.Now()
		require.ErrorIs(t, errOf(m.Acquire(ctx)), zklock.ErrDeadlock)
		require.ErrorIs(t, m.Do(ctx, nothing), zklock.ErrDeadlock)
		require.Equal(t, began, time.Now())
		require.ErrorIs(t, m.LockContext(ctx), context.DeadlineExceeded)
	})
}

func TestAMultiHoldEndsWithAnyOfItsHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		m := must(zklock.NewMulti((&site{t: t, path: b.path}).lockers(b.session("here"), 3)...))
		for i := range 3 {
			h := must(m.Acquire(t.Context()))
			require.NoError(t, h.Err())
			require.NoError(t, h.Holds()[i].Release(t.Context()))
			require.ErrorIs(t, h.Err(), zklock.ErrReleased)
			require.False(t, h.Valid())
			require.NoError(t, h.Release(t.Context()))
		}
	})
}

func TestAMultiHoldIsValidForAsLongAsTheFirstOfItsHoldsThatEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at, s := &site{t: t, path: b.path}, b.session("here")
		m := must(zklock.NewMulti(at.lockers(s, 1)[0], must(zklock.New(s, at.part(1), zklock.WithMaxHold(time.Second)))))
		h := must(m.Acquire(t.Context()))
		require.True(t, h.ValidFor(s.Timeout()/10))
		time.Sleep(time.Second + s.Timeout() - s.Timeout()/20) // a 20th ahead of the limit
		require.True(t, h.Holds()[0].ValidFor(s.Timeout()/10))
		require.False(t, h.ValidFor(s.Timeout()/10))
		require.True(t, h.ValidFor(s.Timeout()/40))
	})
}

func TestAMultiLockerLeavesTheLimitOfWhatItsOwnerHeldBefore(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("here"), zklock.WithMaxHold(time.Second))
		l.Lock()
		m := must(zklock.NewMulti(l))
		m.Lock()
		time.Sleep(time.Second + 2*longSession)
		require.True(t, isClosed(l.Lost()))
		m.Unlock()
		l.Unlock()
	})
}

// lifetime is a context that ends at the very moment in which a hold is lost.
type lifetime struct {
	context.Context
	hold *zklock.Hold
}

func (l lifetime) Done() <-chan struct{} { return l.hold.Lost() }

func (l lifetime) Err() error {
	if l.hold.Err() != nil {
		return context.Canceled
	}
	return nil
}

func TestAMultiLockerIsNotLockedWhenItsContextEndsAsTheCallersLockIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		parts := at.lockers(b.session("here"), 2)
		theirs := at.lockers(b.session("there"), 2)[1]
		theirs.Lock()
		var err error
		holds, ended := make(chan *zklock.Hold, 1), make(chan struct{})
		go func() {
			defer close(ended)
			parts[0].Lock()
			defer parts[0].Unlock()
			holds <- parts[0].Held()
			err = must(zklock.NewMulti(parts...)).LockContext(lifetime{t.Context(), parts[0].Held()})
			require.Nil(t, parts[1].Held())
		}()
		synctest.Wait()
		b.lose(<-holds)
		<-ended
		require.ErrorIs(t, err, context.Canceled)
		theirs.Unlock()
		time.Sleep(time.Second)
		require.Empty(t, b.server.Children(at.part(1)))
	})
}

// Whether it is locked then, or not.
func TestAMultiLockerWhoseContextEndsInTheMomentOfAGrantHoldsAllOrNone(t *testing.T) {
	for last := range 2 {
		inBubble(t, func(t *testing.T, b *bubble) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			at, s := &site{t: t, path: b.path}, b.session("here")
			var parts []*zklock.Locker
			for i := range 2 {
				trace := &zklock.Trace{Acquired: func(zklock.TraceInfo) {
					if i == last {
						cancel()
					}
				}}
				parts = append(parts, must(zklock.New(s, at.part(i), zklock.WithTrace(trace))))
			}
			m := must(zklock.NewMulti(parts...))
			if err := m.LockContext(ctx); err == nil {
				require.Equal(t, 1, m.HoldCount())
				m.Unlock()
			} else {
				require.ErrorIs(t, err, context.Canceled)
			}
			time.Sleep(time.Second)
			for i, l := range parts {
				require.Zero(t, l.HoldCount())
				require.Empty(t, b.server.Children(at.part(i)))
			}
		})
	}
}

// Without an owner, what is held may be another's.
func TestAMultiLockerThatLosesALockGivesBackNoneOfThoseThatItWaitsFor(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		parts := at.lockers(b.session("here"), 2, zklock.WithoutOwner())
		elsewhere(parts[1].Lock)
		others := parts[1].Held()
		m := must(zklock.NewMulti(parts...))
		ended := begin(func() error { return m.LockContext(t.Context()) })
		synctest.Wait()
		b.lose(parts[0].Held())
		time.Sleep(time.Second)
		require.NoError(t, others.Err())
		require.Empty(t, ended)
		parts[1].Unlock()
		require.NoError(t, <-ended)
		m.Unlock()
	})
}

// The call goes on, and what its trace is told says why one of the locks was asked for in vain.
func TestAMultiLockerThatStartsOverTellsTheTraceOfTheLockThatItLost(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		theirs := at.lockers(b.session("there"), 2)[1]
		theirs.Lock()
		var tale tale
		parts := at.lockers(b.session("here"), 2, zklock.WithTrace(tale.trace()), zklock.WithoutOwner())
		ended := begin(func() error { return must(zklock.NewMulti(parts...)).LockContext(t.Context()) })
		tale.next(t, "enqueued acquired enqueued")
		b.lose(parts[0].Held())
		time.Sleep(time.Second)
		theirs.Unlock()
		require.NoError(t, <-ended)
		i := slices.IndexFunc(tale.take(), func(e told) bool {
			return e.what == "failed" && e.Path == parts[1].Path() && errors.Is(e.Err, zklock.ErrLost) && errors.Is(e.Err, context.Canceled)
		})
		require.GreaterOrEqual(t, i, 0)
	})
}

// By the time that it gives up, its lock may have been unlocked, and locked, by others.
func TestAMultiLockerThatStartsOverGivesNobodyElsesLockBack(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		blocker := must(must(zklock.New(b.session("there"), "/b")).Acquire(t.Context()))
		first := must(zklock.New(s, "/a", zklock.WithoutOwner()))
		second := must(zklock.New(s, "/b", zklock.WithTrace(&zklock.Trace{Failed: func(zklock.TraceInfo) { time.Sleep(time.Minute) }})))
		ended := begin(func() error { return must(zklock.NewMulti(first, second)).LockContext(aMinute(t)) })
		synctest.Wait()
		first.Unlock()
		first.Lock()
		others := first.Held()
		time.Sleep(2 * time.Minute)
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		require.NoError(t, others.Err())
		require.False(t, first.TryLock())
		b.lose(others)
		require.False(t, first.TryLock(), "nor its share")
		first.Unlock()
		require.True(t, first.TryLock())
		first.Unlock()
		require.NoError(t, blocker.Release(t.Context()))
	})
}
