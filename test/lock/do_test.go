package lock_test

import (
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// doers are the calls that run a function while they hold something, all of it on the bubble's
// path and on the same session.
func doers(b *bubble, s *zklock.Session) map[string]func(context.Context, func(context.Context) error) error {
	rw, read := must(zklock.NewRW(s, "/rw")), must(zklock.NewRW(s, "/read"))
	sem := must(zklock.NewSemaphore(s, "/permits", 3))
	multi := must(zklock.NewMulti(must(zklock.New(s, "/multi/a")), must(zklock.New(s, "/multi/b"))))
	return map[string]func(context.Context, func(context.Context) error) error{
		"Locker":       b.locker(s).Do,
		"RWLocker":     rw.Do,
		"RWLocker.RDo": read.RDo,
		"Semaphore": func(ctx context.Context, f func(context.Context) error) error {
			return sem.Do(ctx, 2, f)
		},
		"MultiLocker": multi.Do,
	}
}

func forEachWay(t *testing.T, f func(*testing.T, *bubble, *zklock.Session, func(context.Context, func(context.Context) error) error)) {
	for _, name := range []string{"Locker", "RWLocker", "RWLocker.RDo", "Semaphore", "MultiLocker"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("mine")
				f(t, b, s, doers(b, s)[name])
			})
		})
	}
}

func TestEachDoHoldsWhileItsFunctionRunsAndReturnsItsError(t *testing.T) {
	forEachWay(t, func(t *testing.T, b *bubble, s *zklock.Session, do func(context.Context, func(context.Context) error) error) {
		broken := errors.New("the job broke")
		var h *zklock.Hold
		var held context.Context
		require.ErrorIs(t, do(t.Context(), func(ctx context.Context) error {
			h, held = zklock.HoldFrom(ctx), ctx
			require.True(t, h.Valid())
			require.Contains(t, b.server.Children(path.Dir(h.Node())), path.Base(h.Node()))
			return broken
		}), broken)
		require.ErrorIs(t, h.Err(), zklock.ErrReleased)
		require.ErrorIs(t, context.Cause(held), zklock.ErrReleased)
		require.NotContains(t, b.server.Children(path.Dir(h.Node())), path.Base(h.Node()), "the release was confirmed")
	})
}

func TestEachDoReleasesWhenItsFunctionPanics(t *testing.T) {
	forEachWay(t, func(t *testing.T, b *bubble, s *zklock.Session, do func(context.Context, func(context.Context) error) error) {
		require.PanicsWithValue(t, "the job broke", func() {
			_ = do(t.Context(), func(context.Context) error { panic("the job broke") })
		})
		require.NoError(t, do(t.Context(), nothing))
		require.ErrorContains(t, do(t.Context(), nil), "the function is nil")
		require.ErrorIs(t, do(done(), nothing), context.Canceled)
	})
}

func TestEachDoTellsOfALoss(t *testing.T) {
	forEachWay(t, func(t *testing.T, b *bubble, s *zklock.Session, do func(context.Context, func(context.Context) error) error) {
		outer, cancel := context.WithCancel(t.Context())
		for _, then := range []func(){func() {}, cancel} {
			require.ErrorIs(t, do(outer, func(ctx context.Context) error {
				b.server.ExpireSession(s.ID())
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), zklock.ErrLost)
				then()
				return nil
			}), zklock.ErrLost)
		}
	})
}

// What a lock excludes, it excludes also from the calls under the context of its Do: they would
// wait for ever.
func TestACallThatWouldWaitForTheHoldOfItsContextIsRefusedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l, again := b.locker(s), b.locker(s)
		within := must(zklock.New(s, "/within"))
		multi := must(zklock.NewMulti(must(zklock.New(s, "/a")), l))
		require.NoError(t, l.Do(aMinute(t), func(ctx context.Context) error {
			return within.Do(ctx, func(ctx context.Context) error {
				began := time.Now()
				for name, err := range map[string]error{
					"LockContext": l.LockContext(ctx), "another Locker": again.LockContext(ctx),
					"Acquire": errOf(l.Acquire(ctx)), "Do": l.Do(ctx, nothing),
					"TryLockFor":          errOf(l.TryLockFor(ctx, time.Hour)),
					"MultiLocker":         multi.LockContext(ctx),
					"MultiLocker.Acquire": errOf(multi.Acquire(ctx)), "MultiLocker.Do": multi.Do(ctx, nothing),
				} {
					require.ErrorIs(t, err, zklock.ErrDeadlock, name)
					require.ErrorContains(t, err, b.path, name)
				}
				require.Equal(t, began, time.Now())
				require.ErrorIs(t, errOf(l.TryAcquire(ctx)), zklock.ErrLocked, "it does not wait")
				return nil
			})
		}))
		require.NoError(t, l.LockContext(aMinute(t)))
		ctx := l.Held().Context()
		require.NoError(t, l.LockContext(ctx), "that is reentry")
		require.NoError(t, multi.LockContext(ctx))
		multi.Unlock()
		l.Unlock()
		l.Unlock()
		require.NotErrorIs(t, l.LockContext(ctx), zklock.ErrDeadlock, "the hold has ended")
		require.NoError(t, l.LockContext(context.WithoutCancel(ctx)), "and its values say nothing any more")
		l.Unlock()
	})
}

// What was lost in a Do stays its own until that returns, and a context may outlive the loss.
func TestACallThatWouldWaitForALostHoldOfItsContextIsRefusedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		enter func(*zklock.RWLocker, context.Context, func(context.Context) error) error
		kind  error // of the refusal of a writer
		reads bool
	}{
		"Do":  {(*zklock.RWLocker).Do, zklock.ErrDeadlock, false},
		"RDo": {(*zklock.RWLocker).RDo, zklock.ErrUpgrade, true},
		"Held": {func(rw *zklock.RWLocker, ctx context.Context, f func(context.Context) error) (err error) {
			rw.Lock()
			held := rw.Held()
			elsewhere(func() { _ = f(held.Context()) })
			return rw.UnlockContext(ctx)
		}, zklock.ErrDeadlock, false},
		"a try": {func(rw *zklock.RWLocker, ctx context.Context, f func(context.Context) error) (err error) {
			require.True(t, rw.TryLock())
			held := rw.Held()
			elsewhere(func() { _ = f(held.Context()) })
			return rw.UnlockContext(ctx)
		}, zklock.ErrDeadlock, false},
		"the reader of a downgrade": {func(rw *zklock.RWLocker, ctx context.Context, f func(context.Context) error) (err error) {
			rw.Lock()
			rw.RLock()
			rw.Unlock()
			held := rw.RHeld()
			elsewhere(func() { _ = f(held.Context()) })
			return rw.RUnlockContext(ctx)
		}, zklock.ErrUpgrade, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("mine")
				rw, other := b.rw(s), b.rw(s)
				var outlives context.Context
				require.ErrorIs(t, c.enter(rw, aMinute(t), func(ctx context.Context) error {
					b.server.ExpireSession(s.ID())
					<-ctx.Done()
					outlives = context.WithoutCancel(ctx)
					waits, cancel := context.WithTimeout(outlives, time.Minute)
					defer cancel()
					began := time.Now()
					for _, err := range []error{rw.LockContext(waits), rw.Do(waits, nothing), errOf(rw.TryLockFor(waits, time.Hour))} {
						require.ErrorIs(t, err, zklock.ErrDeadlock)
						require.ErrorIs(t, err, c.kind)
					}
					if !c.reads {
						require.ErrorIs(t, rw.RLockContext(waits), zklock.ErrDeadlock)
					}
					require.Equal(t, began, time.Now())
					if c.reads {
						require.NoError(t, rw.RDo(waits, nothing), "readers share the lock")
					}
					require.NoError(t, other.Do(waits, nothing), "another RWLocker waits for nobody's Unlock")
					return must(rw.Acquire(waits)).Release(waits) // nor does a handle
				}), zklock.ErrLost)
				require.NoError(t, rw.Do(outlives, nothing), "it was given back")
			})
		})
	}
}

// Until Do returns, its caller keeps what it has of the lock besides the hold.
func TestACallInADoWhoseHoldWasReleasedIsRefusedAtOnceUntilTheDoReturns(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l, other := b.locker(s), b.locker(b.session("theirs"))
		taken := must(zklock.New(s, "/a")) // which a MultiLocker takes first
		require.NoError(t, must(must(zklock.New(b.session("its owner"), "/a")).Acquire(t.Context())).Err())
		var outlives context.Context
		require.NoError(t, l.Do(aMinute(t), func(ctx context.Context) error {
			require.NoError(t, zklock.HoldFrom(ctx).Release(t.Context()))
			outlives = context.WithoutCancel(ctx)
			began := time.Now()
			require.ErrorIs(t, l.LockContext(outlives), zklock.ErrDeadlock)
			require.ErrorIs(t, l.Do(outlives, nothing), zklock.ErrDeadlock)
			several := must(zklock.NewMulti(taken, l))
			require.ErrorIs(t, several.LockContext(outlives), zklock.ErrDeadlock)
			require.ErrorIs(t, several.Do(outlives, nothing), zklock.ErrDeadlock)
			require.Equal(t, began, time.Now())
			require.NoError(t, must(l.Acquire(outlives)).Release(outlives), "a handle shares nothing")
			return other.Do(outlives, nothing)
		}))
		require.ErrorIs(t, l.Do(outlives, func(ctx context.Context) error {
			require.NoError(t, s.Close())
			require.ErrorIs(t, l.LockContext(context.WithoutCancel(ctx)), zklock.ErrClosed, "and nothing is waited for any more")
			return nil
		}), zklock.ErrLost)
	})
}

func TestAMultiHoldStandsForAllItsLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mine, other := b.session("mine"), b.session("other")
		m := must(zklock.NewMulti(must(zklock.New(mine, "/b")), must(zklock.New(other, "/a"))))
		h, err := m.Acquire(t.Context())
		require.NoError(t, err)
		require.Len(t, h.Holds(), 2)
		require.Regexp(t, "^/a/", h.Holds()[0].Node())
		require.True(t, h.Valid())
		require.NoError(t, h.Err())
		require.False(t, m.TryLock(), "it is no goroutine's")
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, h.Err(), zklock.ErrReleased)
		require.False(t, isClosed(h.Lost()))
		require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased)

		h, err = m.Acquire(t.Context())
		require.NoError(t, err)
		ctx := h.Context()
		b.server.ExpireSession(mine.ID())
		<-h.Lost()
		require.ErrorIs(t, h.Err(), zklock.ErrLost)
		require.ErrorContains(t, h.Err(), "/b")
		require.False(t, h.Valid())
		require.ErrorIs(t, context.Cause(ctx), zklock.ErrLost)
		require.True(t, h.Holds()[0].Valid(), "the other one stays until Release")
		require.ErrorIs(t, h.Release(t.Context()), zklock.ErrLost)
		require.ErrorIs(t, h.Holds()[0].Err(), zklock.ErrReleased)
	})
}

// aMinute bounds what is not to wait at all.
func aMinute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
