package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// caller is who calls in vain for a lock that another session has.
type caller struct {
	*bubble
	session *zklock.Session
	tale    tale
}

func (c *caller) mutex(opts ...zklock.Option) *zklock.Locker {
	return c.locker(c.session, append(opts, zklock.WithTrace(c.tale.trace()))...)
}

func (c *caller) rwlocker() *zklock.RWLocker {
	return c.rw(c.session, zklock.WithTrace(c.tale.trace()))
}

// cohort returns a lock that another goroutine waits for already.
func (c *caller) cohort() *zklock.Locker {
	l := c.mutex(zklock.WithHandoff(2))
	c.ask(context.WithoutCancel(c.t.Context()), "first", l, make(chan grant, 1))
	c.tale.next(c.t, "enqueued")
	return l
}

// traced returns a semaphore of two permits.
func (c *caller) traced() *zklock.Semaphore {
	return c.semaphore(c.session, 2, zklock.WithTrace(c.tale.trace()))
}

// permits returns a semaphore whose permit another has.
func (c *caller) permits() *zklock.Semaphore {
	c.path = "/semaphore"
	_, err := c.semaphore(c.session, 1).Acquire(c.t.Context(), 1)
	require.NoError(c.t, err)
	return c.semaphore(c.session, 1, zklock.WithTrace(c.tale.trace()))
}

func (c *caller) closeSoon() { time.AfterFunc(time.Second, func() { c.session.Close() }) }

// failures are calls that end without the lock, with what is told of them.
var failures = map[string]struct {
	story string
	err   error
	call  func(ctx context.Context, c *caller) error
}{
	"LockContext, in time": {"enqueued failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		return c.mutex().LockContext(ctx)
	}},
	"Acquire, in time": {"enqueued failed", context.DeadlineExceeded, func(ctx context.Context, c *caller) error {
		_, err := c.mutex().Acquire(ctx)
		return err
	}},
	"Acquire, cancelled": {"enqueued failed", context.Canceled, func(ctx context.Context, c *caller) error {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		_, err := c.mutex().Acquire(ctx)
		return err
	}},
	"Acquire, closed": {"enqueued failed", zklock.ErrClosed, func(ctx context.Context, c *caller) error {
		c.closeSoon()
		_, err := c.mutex().Acquire(context.WithoutCancel(ctx))
		return err
	}},
	"Acquire, refused": {"failed", zk.ErrNoAuth, func(ctx context.Context, c *caller) error {
		c.path = "/refused"
		_, err := c.session.Conn().Create(c.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead))
		require.NoError(c.t, err)
		_, err = c.mutex().Acquire(ctx)
		return err
	}},
	"TryLockFor, in time": {"enqueued failed", context.DeadlineExceeded, func(ctx context.Context, c *caller) error {
		ok, err := c.mutex().TryLockFor(context.WithoutCancel(ctx), time.Second)
		require.False(c.t, ok)
		return err
	}},
	"Do, in time": {"enqueued failed", context.DeadlineExceeded, func(ctx context.Context, c *caller) error {
		return c.mutex().Do(ctx, func(context.Context) error { panic("it ran") })
	}},
	"TryLock": {"failed", zklock.ErrLocked, func(_ context.Context, c *caller) error {
		require.False(c.t, c.mutex().TryLock())
		return nil
	}},
	"TryAcquire": {"failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.mutex().TryAcquire(ctx)
		return err
	}},
	"TryLock of another goroutine's": {"failed", zklock.ErrLocked, func(_ context.Context, c *caller) error {
		c.path = "/own"
		l := c.mutex()
		l.Lock()
		c.tale.next(c.t, "enqueued acquired")
		elsewhere(func() { require.False(c.t, l.TryLock()) })
		return nil
	}},
	"RLockContext, in time": {"enqueued failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		return c.rwlocker().RLockContext(ctx)
	}},
	"RAcquire, in time": {"enqueued failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.rwlocker().RAcquire(ctx)
		return err
	}},
	"TryRAcquire": {"failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.rwlocker().TryRAcquire(ctx)
		return err
	}},
	"downgrade, of a lost lock": {"failed", zklock.ErrLost, func(ctx context.Context, c *caller) error {
		c.path = "/own"
		l := c.rwlocker()
		l.Lock()
		require.True(c.t, c.server.ExpireSession(c.session.ID()))
		<-l.Lost()
		c.tale.next(c.t, "enqueued acquired suspended lost")
		return l.RLockContext(ctx)
	}},
	"upgrade, under a reader's context": {"failed", zklock.ErrUpgrade, func(ctx context.Context, c *caller) error {
		c.path = "/own"
		l := c.rwlocker()
		h, err := l.RAcquire(ctx)
		require.NoError(c.t, err)
		c.tale.next(c.t, "enqueued acquired")
		return l.LockContext(h.Context())
	}},
	"cohort, in time": {"failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.cohort().Acquire(ctx)
		return err
	}},
	"cohort, trying": {"failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.cohort().TryAcquire(ctx)
		return err
	}},
	"Semaphore.Acquire, in time": {"enqueued failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.permits().Acquire(ctx, 1)
		return err
	}},
	"Semaphore.Acquire, in time for a turn": {"enqueued failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		sem := c.permits()
		go func() { _, _ = c.semaphore(c.session, 1).Acquire(c.t.Context(), 1) }()
		synctest.Wait()
		_, err := sem.Acquire(ctx, 1)
		return err
	}},
	"Semaphore.Acquire, refused": {"enqueued failed", zk.ErrNoAuth, func(ctx context.Context, c *caller) error {
		sem := c.permits()
		_, err := c.session.Conn().SetACL(c.path+"/leases", zk.WorldACL(zk.PermCreate), -1)
		require.NoError(c.t, err)
		_, err = sem.Acquire(ctx, 1)
		return err
	}},
	"Semaphore.TryAcquire": {"enqueued failed", zklock.ErrLocked, func(ctx context.Context, c *caller) error {
		_, err := c.permits().TryAcquire(ctx, 1)
		return err
	}},
}

func TestACallThatEndsWithoutTheLockIsToldWithItsError(t *testing.T) {
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.locker(b.session("holder")).Lock()
				c := &caller{bubble: b, session: b.session("caller")}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				began := time.Now()
				err := failure.call(ctx, c)
				ended := time.Now()
				events := c.tale.next(t, failure.story)
				told := events[len(events)-1]
				require.ErrorIs(t, told.Err, failure.err)
				if err != nil {
					require.ErrorIs(t, err, failure.err)
					require.ErrorIs(t, err, told.Err, "what the call returns wraps it")
				}
				require.Equal(t, c.path, told.Path)
				require.Equal(t, events[0].Node, told.Node)
				require.Equal(t, events[0].what == "enqueued", told.Node != "")
				require.Equal(t, events[0].Since, told.Since)
				require.True(t, told.Time.Equal(ended))
				require.False(t, told.Since.Before(began))
			})
		})
	}
}

func TestEachMemberOfACohortIsToldThatTheSessionIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.locker(b.session("holder")).Lock()
		c := &caller{bubble: b, session: b.session("caller")}
		b.ask(t.Context(), "second", c.cohort(), make(chan grant, 1))
		require.NoError(t, c.session.Close())
		for _, e := range c.tale.next(t, "failed failed") {
			require.ErrorIs(t, e.Err, zklock.ErrClosed)
		}
	})
}

func TestACallThatHasEndedBeforeItBeganIsNotTold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		c := &caller{bubble: b, session: b.session("caller")}
		require.ErrorIs(t, c.mutex().LockContext(done()), context.Canceled)
		_, err := c.mutex().Acquire(done())
		require.ErrorIs(t, err, context.Canceled)
		c.tale.next(t, "")
	})
}

func TestACallThatAsksForNothingIsNotTold(t *testing.T) {
	run := func(context.Context) error { panic("it ran") }
	for name, call := range map[string]func(ctx context.Context, c *caller) []error{
		"no function": func(ctx context.Context, c *caller) []error {
			return []error{
				c.mutex().Do(ctx, nil), c.rwlocker().RDo(ctx, nil), c.traced().Do(ctx, 1, nil), must(zklock.NewMulti(c.mutex())).Do(ctx, nil),
			}
		},
		"permits out of range": func(ctx context.Context, c *caller) []error {
			sem := c.traced()
			_, none := sem.Acquire(ctx, 0)
			_, more := sem.Acquire(ctx, 3)
			_, tried := sem.TryAcquire(ctx, 3)
			return []error{none, more, tried, sem.Do(ctx, 3, run)}
		},
		"a MultiLocker that would wait for itself": func(ctx context.Context, c *caller) []error {
			l := c.mutex()
			h, err := l.Acquire(ctx)
			require.NoError(c.t, err)
			c.tale.next(c.t, "enqueued acquired")
			m, ctx := must(zklock.NewMulti(l)), h.Context()
			_, handle := m.Acquire(ctx)
			refused := []error{m.LockContext(ctx), handle, m.Do(ctx, run)}
			for _, err := range refused {
				require.ErrorIs(c.t, err, zklock.ErrDeadlock)
			}
			return refused
		},
		"an upgrade": func(ctx context.Context, c *caller) []error {
			l := c.rwlocker()
			l.RLock()
			c.tale.next(c.t, "enqueued acquired")
			return []error{l.LockContext(ctx), l.Do(ctx, run)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				c := &caller{bubble: b, session: b.session("caller")}
				for _, err := range call(t.Context(), c) {
					require.Error(t, err)
				}
				c.tale.next(t, "")
			})
		})
	}
}

// The lock was lost, and ZooKeeper grants it to another goroutine, which has to wait for the
// owner that has not unlocked yet.
func TestACallThatEndsWhileALostOwnerLingersHasAHoldAndFails(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		c := &caller{bubble: b, session: b.session("caller")}
		l := c.mutex()
		l.Lock()
		require.True(t, b.server.ExpireSession(c.session.ID()))
		<-l.Lost()
		c.tale.next(t, "enqueued acquired suspended lost")
		elsewhere(func() { require.ErrorIs(t, l.LockContext(within(t, 3*time.Second)), context.DeadlineExceeded) })
		events := c.tale.next(t, "enqueued acquired released failed")
		require.Equal(t, events[1].Since, events[3].Since, "the call")
		l.Unlock()
	})
}

func TestATryThatFindsALostOwnerLingeringFailsWithoutAHold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		c := &caller{bubble: b, session: b.session("caller")}
		l := c.mutex()
		l.Lock()
		require.True(t, b.server.ExpireSession(c.session.ID()))
		<-l.Lost()
		time.Sleep(longSession) // there is another session by now
		c.tale.next(t, "enqueued acquired suspended lost")
		elsewhere(func() { require.False(t, l.TryLock()) })
		require.ErrorIs(t, c.tale.next(t, "failed")[0].Err, zklock.ErrLocked)
		l.Unlock()
	})
}

// Time is up, and the lock is handed to the waiter, at the same instant.
func TestAHoldThatIsNotAcquiredIsNotReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		c := &caller{bubble: b, session: b.session("caller")}
		for range 50 {
			l := c.mutex(zklock.WithHandoff(2))
			first, err := l.Acquire(t.Context())
			require.NoError(t, err)
			c.tale.next(t, "enqueued acquired")
			ctx, cancel := context.WithCancel(t.Context())
			granted := make(chan grant, 1)
			b.ask(ctx, "second", l, granted)
			cancel()
			require.NoError(t, first.Release(t.Context()))
			require.Error(t, (<-granted).err)
			synctest.Wait()
			counts := make(map[string]int)
			for _, e := range c.tale.take() {
				counts[e.what]++
			}
			require.Equal(t, map[string]int{"released": 1, "failed": 1}, counts)
		}
	})
}
