package nemesis

import (
	"context"
	"time"

	"github.com/zklock/zklock"
)

const (
	semaphoreSize = 3
	lockName      = "lock"
	otherName     = "other"
)

// owner takes the lock as the goroutine's own, in one of the ways there are, and
// once more inside.
func (c *client) owner() (*Attempt, error) {
	path := c.path(lockName)
	l, err := c.locks.locker(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.patience()
	defer cancel()
	a := c.begin(path, Exclusive)
	switch c.dice.IntN(3) {
	case 0:
		l.Lock()
	case 1:
		err = l.LockContext(ctx)
	default:
		var ok bool
		if ok, err = l.TryLockFor(ctx, c.short(c.job.Timeout)); !ok && err == nil {
			err = zklock.ErrLocked
		}
	}
	if err != nil {
		return a, err
	}
	h := l.Held()
	release := func() error { l.Unlock(); return nil }
	if c.dice.IntN(2) == 0 {
		release = func() error { return c.confirmed(l.UnlockContext) }
	}
	return nil, c.hold([]*Attempt{a}, []*zklock.Hold{h}, func() error {
		again(a, l, h)
		return release()
	}, c.work()...)
}

// again locks once more what the caller owns. It counts if the hold was valid
// afterwards: a re-entry looks at the lost flag, not at the clock.
func again(a *Attempt, l *zklock.Locker, h *zklock.Hold) {
	n := Nested{Lock: Now()}
	if l.LockContext(context.Background()) != nil {
		return
	}
	n.Locked = Now()
	n.Unlock = n.Locked
	l.Unlock()
	n.Unlocked = Now()
	if a.look(h) && a.Valid >= n.Unlocked {
		a.Nested = append(a.Nested, n)
	}
}

// handle takes the lock as a Hold, waiting for it or not.
func (c *client) handle() (*Attempt, error) {
	path := c.path(lockName)
	l, err := c.locks.locker(path)
	if err != nil {
		return nil, err
	}
	acquire := l.Acquire
	if c.dice.IntN(2) == 0 {
		acquire = l.TryAcquire
	}
	return c.held(path, Exclusive, acquire, c.work()...)
}

// burst takes a lock that few want, several times in a row.
func (c *client) burst() (*Attempt, error) {
	path := c.path("burst")
	l, err := c.locks.locker(path)
	if err != nil {
		return nil, err
	}
	for range 1 + c.dice.IntN(8) {
		if a, err := c.held(path, Exclusive, l.Acquire, c.work()...); err != nil {
			return a, err
		}
	}
	time.Sleep(c.short(c.job.Timeout / 2))
	return nil, nil
}

// work is what a hold of the lock is taken for: updates behind its fence or, so
// that its node may go on to the next owner, nothing that asks for its token.
func (c *client) work() []func(*zklock.Hold) {
	if c.dice.IntN(2) == 0 {
		return nil
	}
	return []func(*zklock.Hold){c.fenced, c.stored}
}

// readOrWrite takes the read/write lock for either.
func (c *client) readOrWrite() (*Attempt, error) {
	path := c.path("rw")
	l, err := zklock.NewRW(c.session, path)
	if err != nil {
		return nil, err
	}
	if c.dice.IntN(3) == 0 {
		return c.held(path, Writing, l.Acquire)
	}
	return c.held(path, Reading, l.RAcquire)
}

// permits takes some of a semaphore's permits.
func (c *client) permits() (*Attempt, error) {
	path := c.path("semaphore")
	s, err := zklock.NewSemaphore(c.session, path, semaphoreSize)
	if err != nil {
		return nil, err
	}
	n := 1 + c.dice.IntN(2)
	return c.held(path, Permits(n, semaphoreSize), func(ctx context.Context) (*zklock.Hold, error) {
		return s.Acquire(ctx, n)
	})
}

// several takes the lock and another as one.
func (c *client) several() (*Attempt, error) {
	first, second := c.path(lockName), c.path(otherName)
	one, err := zklock.New(c.session, first)
	if err != nil {
		return nil, err
	}
	other, err := zklock.New(c.session, second)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.patience()
	defer cancel()
	m := zklock.NewMulti(other, one)
	a, b := c.begin(first, Exclusive), c.begin(second, Exclusive)
	if err := m.LockContext(ctx); err != nil {
		b.Denied = Now()
		c.report.report(b)
		return a, err
	}
	return nil, c.hold([]*Attempt{a, b}, []*zklock.Hold{one.Held(), other.Held()}, func() error {
		m.Unlock()
		return nil
	}, c.fenced, c.stored)
}

// held takes a lock as a Hold and gives it back.
func (c *client) held(path string, share Share, acquire func(context.Context) (*zklock.Hold, error), work ...func(*zklock.Hold)) (*Attempt, error) {
	ctx, cancel := c.patience()
	defer cancel()
	a := c.begin(path, share)
	h, err := acquire(ctx)
	if err != nil {
		return a, err
	}
	return nil, c.hold([]*Attempt{a}, []*zklock.Hold{h}, func() error { return c.confirmed(h.Release) }, work...)
}
