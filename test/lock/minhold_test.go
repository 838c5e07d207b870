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

// minimum is how long a lock is kept from everybody in these tests.
const minimum = 30 * time.Second

// requireFreeAt has the lock asked for by acquire, and it is granted when d has passed since
// began, to the moment, or up to slack later.
func (b *bubble) requireFreeAt(began time.Time, d, slack time.Duration, acquire func(context.Context) (*zklock.Hold, error)) {
	b.t.Helper()
	h, err := acquire(b.t.Context())
	require.NoError(b.t, err)
	passed := time.Since(began)
	require.GreaterOrEqual(b.t, passed, d)
	require.LessOrEqual(b.t, passed, d+slack)
	require.NoError(b.t, h.Release(b.t.Context()))
}

func TestAMinHoldKeepsTheLockFromEverybodyThoughUnlockReturnsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		l, other := b.locker(s, zklock.WithMinHold(minimum)), b.locker(b.session("other"))
		for name, unlock := range map[string]func(){
			"Unlock":        l.Unlock,
			"UnlockContext": func() { require.NoError(t, l.UnlockContext(t.Context())) },
			"Release": func() {
				h := l.Held()
				require.NoError(t, h.Release(t.Context()))
				require.NoError(t, h.Release(t.Context()))
				l.Unlock()
			},
		} {
			l.Lock()
			began, h := time.Now(), l.Held()
			time.Sleep(10 * time.Millisecond)
			unlock()
			require.Equal(t, 10*time.Millisecond, time.Since(began), name)
			require.ErrorIs(t, h.Err(), zklock.ErrReleased, name)
			require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased, name)
			require.False(t, isClosed(h.Lost()), name)

			require.False(t, other.TryLock(), name)
			require.False(t, l.TryLock(), name+": nor has its last owner it")
			require.False(t, b.locker(s).TryLock(), name+": nor another Locker of the session")
			require.Equal(t, 10*time.Millisecond, time.Since(began), name+": which a try says at once")
			require.ErrorIs(t, l.LockContext(within(t, time.Second)), zklock.ErrLocked, name)
			synctest.Wait()
			found, err := zklock.Inspect(t.Context(), s, b.path)
			require.NoError(t, err)
			require.Len(t, found, 1, name)
			require.True(t, found[0].Held, name)

			granted := make(chan grant, 3)
			b.ask(t.Context(), "first", b.locker(s), granted)
			b.ask(t.Context(), "second", other, granted)
			time.Sleep(time.Until(began.Add(minimum - time.Nanosecond)))
			synctest.Wait()
			require.Empty(t, granted, name)
			time.Sleep(time.Nanosecond)
			for _, who := range []string{"first", "second"} {
				g := b.next(granted)
				require.Equal(t, who, g.who, name)
				require.Equal(t, minimum, time.Since(began), name)
				require.NoError(t, g.Release(t.Context()))
			}
			require.Zero(t, b.queue(), name)
		}
	})
}

func TestAFunctionThatFailsKeepsItsLockForTheMinimum(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("owner"), zklock.WithMinHold(minimum))
		began := time.Now()
		require.Panics(t, func() {
			_ = l.Do(t.Context(), func(context.Context) error { panic("the job has failed") })
		})
		b.requireFreeAt(began, minimum, 0, b.locker(b.session("other")).Acquire)
	})
}

// Within one session a lock is handed on without ZooKeeper.
func TestALockIsNotHandedOnInsideASessionBeforeItsMinimum(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("owner"), zklock.WithMinHold(minimum))
		l.Lock()
		began := time.Now()
		granted := make(chan grant, 3)
		for range 3 {
			b.ask(t.Context(), "waiter", l, granted)
		}
		l.Unlock()
		for i := range 3 {
			g := <-granted
			require.NoError(t, g.err)
			require.Equal(t, time.Duration(i+1)*minimum, time.Since(began))
			g.Release(t.Context())
		}
	})
}

// What is to be done once is not done while the call waits.
func TestTheMinimumCountsFromWhenTheCallHasAllThatItWaitsFor(t *testing.T) {
	short := zklock.WithMinHold(minimum)
	for name, use := range map[string]func(b *bubble, s *zklock.Session, second *zklock.Locker) (began time.Time){
		"an owner here that has lost the lock": func(b *bubble, s *zklock.Session, _ *zklock.Locker) time.Time {
			l := b.locker(s, short, zklock.WithoutOwner())
			l.Lock()
			require.NoError(b.t, s.Conn().Delete(l.Held().Node(), -1))
			<-l.Lost()
			time.AfterFunc(2*minimum, l.Unlock)
			l.Lock()
			defer l.Unlock()
			return time.Now()
		},
		"the others of a MultiLocker": func(b *bubble, s *zklock.Session, second *zklock.Locker) time.Time {
			h := must(second.Acquire(b.t.Context()))
			time.AfterFunc(2*minimum, func() { _ = h.Release(b.t.Context()) })
			m := must(zklock.NewMulti(b.locker(s, short), second))
			m.Lock()
			defer m.Unlock()
			return time.Now()
		},
		"a MultiLocker whose caller has had the lock before": func(b *bubble, s *zklock.Session, second *zklock.Locker) time.Time {
			l := b.locker(s, short)
			l.Lock()
			defer l.Unlock()
			began := time.Now()
			time.Sleep(10 * time.Millisecond)
			m := must(zklock.NewMulti(l, second))
			m.Lock()
			defer m.Unlock()
			return began
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("owner")
				began := use(b, s, must(zklock.New(s, "/second")))
				b.requireFreeAt(began, minimum, 0, b.locker(b.session("other")).Acquire)
			})
		})
	}
}

func TestEveryKindOfLockHasAMinimum(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		short, other := zklock.WithMinHold(minimum), b.session("other")
		rw, err := zklock.NewRW(b.session("owner"), "/rw", short)
		require.NoError(t, err)
		others, err := zklock.NewRW(other, "/rw")
		require.NoError(t, err)
		began := time.Now()
		rw.RLock()
		time.Sleep(10 * time.Millisecond)
		rw.RUnlock()
		require.True(t, others.TryRLock(), "readers share")
		others.RUnlock()
		b.requireFreeAt(began, minimum, 0, others.Acquire)

		began = time.Now()
		rw.Lock()
		rw.RLock() // who goes on reading
		rw.Unlock()
		b.requireFreeAt(began, minimum, 0, others.RAcquire)
		rw.RUnlock()
		b.requireFreeAt(began, minimum, 0, others.Acquire)

		sem, err := zklock.NewSemaphore(b.session("sem"), "/sem", 3, short)
		require.NoError(t, err)
		began = time.Now()
		h, err := sem.Acquire(t.Context(), 2)
		require.NoError(t, err)
		require.NoError(t, h.Release(t.Context()))
		synctest.Wait()
		require.Empty(t, b.server.Children("/sem/locks"), "the turn is for the next")
		require.Len(t, b.server.Children("/sem/leases"), 2)
		_, err = sem.TryAcquire(t.Context(), 2)
		require.ErrorIs(t, err, zklock.ErrLocked)
		b.requireFreeAt(began, minimum, 0, func(ctx context.Context) (*zklock.Hold, error) { return sem.Acquire(ctx, 2) })
	})
}

// Nobody has come to use the lock: there is nothing that is not to be done again.
func TestACallThatFailsLeavesNothingForTheMinimum(t *testing.T) {
	short := zklock.WithMinHold(minimum)
	for name, fail := range map[string]func(t *testing.T, b *bubble, s *zklock.Session){
		"a MultiLocker that cannot have all": func(t *testing.T, b *bubble, s *zklock.Session) {
			taken, err := zklock.New(b.session("other"), "/taken")
			require.NoError(t, err)
			taken.Lock()
			second, err := zklock.New(s, "/taken")
			require.NoError(t, err)
			m := must(zklock.NewMulti(b.locker(s, short), second))
			require.False(t, m.TryLock())
			require.ErrorIs(t, m.LockContext(within(t, time.Second)), zklock.ErrLocked)
		},
		"a trace that panics": func(t *testing.T, b *bubble, s *zklock.Session) {
			l := b.locker(s, short, zklock.WithTrace(&zklock.Trace{Acquired: func(zklock.TraceInfo) { panic("the trace") }}))
			require.Panics(t, l.Lock)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				fail(t, b, b.session("owner"))
				synctest.Wait()
				require.Zero(t, b.queue())
			})
		})
	}
}

func TestAMinHoldThatMakesNoSenseIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		for want, opts := range map[string][]zklock.Option{
			"WithMinHold(-1s): it must not be negative": {zklock.WithMinHold(-time.Second)},
			"does not go with WithHandoff":              {zklock.WithMinHold(minimum), zklock.WithHandoff(2)},
			"or WithRetention":                          {zklock.WithRetention(minimum), zklock.WithMinHold(minimum)},
		} {
			_, err := zklock.New(s, b.path, opts...)
			require.ErrorContains(t, err, want)
			_, err = zklock.NewRW(s, b.path, opts...) // which refuses the others for themselves
			require.Error(t, err)
			_, err = zklock.NewSemaphore(s, b.path, 2, opts...)
			require.Error(t, err)
		}
		_, err := zklock.New(s, b.path, zklock.WithMinHold(0), zklock.WithHandoff(2), zklock.WithRetention(minimum))
		require.NoError(t, err)
		_, err = zklock.New(s, b.path, zklock.WithMinHold(minimum), zklock.WithHandoff(1))
		require.NoError(t, err)
	})
}

// The session lives on, and with it the node: nobody acts on it, and what ends with the lease
// is what somebody acts on.
func TestALeaseThatIsOverDoesNotEndTheMinimum(t *testing.T) {
	for name, held := range map[string]bool{"of a hold that was released": false, "of a hold that was lost": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("owner")
				l := b.locker(s, zklock.WithMinHold(10*longSession))
				l.Lock()
				began, h := time.Now(), l.Held()
				if !held {
					l.Unlock()
				}
				beside, err := zklock.New(s, "/beside")
				require.NoError(t, err)
				beside.Lock()
				id, client := s.ID(), b.server.Client("owner")
				client.Block(zktest.ToServer)
				client.Block(zktest.ToClient)
				<-beside.Lost()
				require.Equal(t, held, isClosed(h.Lost()))
				client.Unblock()
				time.Sleep(longSession)
				require.Equal(t, id, s.ID())
				if held {
					require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrLost)
				}
				b.requireFreeAt(began, 10*longSession, time.Second, b.locker(b.session("other")).Acquire)
			})
		})
	}
}

func TestOfANodeThatSomebodyHasDeletedNothingStaysForTheMinimum(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		h := must(b.locker(s, zklock.WithMinHold(time.Hour)).Acquire(t.Context()))
		b.lose(h)
		began := time.Now()
		require.NoError(t, s.Shutdown(t.Context()))
		require.Less(t, time.Since(began), time.Minute)
	})
}
