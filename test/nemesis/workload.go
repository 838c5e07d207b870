package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/zklock/zklock"
)

// workload takes a lock in one way and gives it back.
type workload func(*client) error

// workloads are what the clients of a process do again and again, one each.
var workloads = []workload{
	(*client).owner, (*client).owner, (*client).handle, (*client).handle,
	(*client).several, (*client).readOrWrite, (*client).readOrWrite, (*client).permits,
	(*client).burst,
}

const (
	semaphoreSize = 3
	lockName      = "lock"
	otherName     = "other"
)

// owner takes the lock as the goroutine's own, in one of the ways there are, and
// once more inside.
func (c *client) owner() error {
	path := c.path(lockName)
	l, err := c.locker(path)
	if err != nil {
		return err
	}
	ctx, cancel := c.patience()
	defer cancel()
	o := c.invoke(path, Exclusive)
	switch c.rng.IntN(3) {
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
		return c.fail(err, o)
	}
	h := l.Held()
	release := func() error { l.Unlock(); return nil }
	if c.rng.IntN(2) == 0 {
		release = func() error { return c.confirmed(l.UnlockContext) }
	}
	return c.hold([]*Op{o}, []*zklock.Hold{h}, func() error {
		if err := reenter(o, l, h); err != nil {
			return err
		}
		return release()
	}, c.work()...)
}

// reenter locks once more what the caller owns, which changes nothing: the hold is the
// same and, by the next look, goes on.
func reenter(o *Op, l *zklock.Locker, h *zklock.Hold) error {
	if l.LockContext(context.Background()) != nil {
		return nil // lost
	}
	inside := l.Held()
	l.Unlock()
	if inside != h || l.Held() != h {
		return fmt.Errorf("a re-entry has changed the hold of %v", o)
	}
	if o.Lost == 0 {
		o.look(h)
	}
	return nil
}

// handle takes the lock as a Hold, waiting for it or not.
func (c *client) handle() error {
	path := c.path(lockName)
	l, err := c.locker(path)
	if err != nil {
		return err
	}
	acquire := l.Acquire
	if c.rng.IntN(2) == 0 {
		acquire = l.TryAcquire
	}
	return c.held(path, Exclusive, acquire, c.work()...)
}

// burst takes a lock that few want, several times in a row.
func (c *client) burst() error {
	path := c.path("burst")
	l, err := c.locker(path)
	if err != nil {
		return err
	}
	for range 1 + c.rng.IntN(8) {
		if err := c.held(path, Exclusive, l.Acquire, c.work()...); err != nil {
			return err
		}
	}
	time.Sleep(c.short(c.job.Timeout / 2))
	return nil
}

// work is what a hold of the lock is taken for: updates behind its fence or, so
// that its node may go on to the next owner, nothing that asks for its token.
func (c *client) work() []func(*zklock.Hold) {
	if c.rng.IntN(2) == 0 {
		return nil
	}
	return []func(*zklock.Hold){c.fenced, c.stored}
}

// readOrWrite takes the read/write lock for either.
func (c *client) readOrWrite() error {
	path := c.path("rw")
	l, err := zklock.NewRW(c.session, path)
	if err != nil {
		return err
	}
	if c.rng.IntN(3) == 0 {
		return c.held(path, Writing, l.Acquire)
	}
	return c.held(path, Reading, l.RAcquire)
}

// permits takes some of a semaphore's permits.
func (c *client) permits() error {
	path := c.path("semaphore")
	s, err := zklock.NewSemaphore(c.session, path, semaphoreSize)
	if err != nil {
		return err
	}
	n := 1 + c.rng.IntN(2)
	return c.held(path, Permits(n, semaphoreSize), func(ctx context.Context) (*zklock.Hold, error) {
		return s.Acquire(ctx, n)
	})
}

// several takes the lock and another as one.
func (c *client) several() error {
	first, second := c.path(lockName), c.path(otherName)
	one, err := zklock.New(c.session, first)
	if err != nil {
		return err
	}
	other, err := zklock.New(c.session, second)
	if err != nil {
		return err
	}
	ctx, cancel := c.patience()
	defer cancel()
	m, err := zklock.NewMulti(other, one)
	if err != nil {
		return err
	}
	a, b := c.invoke(first, Exclusive), c.invoke(second, Exclusive)
	if err := m.LockContext(ctx); err != nil {
		return c.fail(err, a, b)
	}
	return c.hold([]*Op{a, b}, []*zklock.Hold{one.Held(), other.Held()}, func() error {
		m.Unlock()
		return nil
	}, c.fenced, c.stored)
}

// held takes a lock as a Hold and gives it back.
func (c *client) held(path string, share Share, acquire func(context.Context) (*zklock.Hold, error), work ...func(*zklock.Hold)) error {
	ctx, cancel := c.patience()
	defer cancel()
	o := c.invoke(path, share)
	h, err := acquire(ctx)
	if err != nil {
		return c.fail(err, o)
	}
	return c.hold([]*Op{o}, []*zklock.Hold{h}, func() error { return c.confirmed(h.Release) }, work...)
}
