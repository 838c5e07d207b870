package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/goid"
)

// TryLock takes the lock if nobody holds it or waits for it, and tells whether
// it did, as sync.Mutex.TryLock does. It is false on any failure too: at once
// while there is no connection, and at the latest after a third of the session
// timeout. A false one leaves no node behind and, unless it lost a race or ran out
// of time, has written none.
func (l *Locker) TryLock() bool { return l.tryLock(l.tryUntil()) == nil }

// tryUntil returns when a try that begins now has to be over.
func (l *Locker) tryUntil() time.Time { return time.Now().Add(l.queue.Client().Timeout() / 3) }

func (l *Locker) tryLock(deadline time.Time) error {
	if l.ownedBy(goid.Get()) {
		return l.reenter()
	}
	c := l.queue.Client()
	if c.Current() == nil {
		return zk.ErrNoServer
	}
	ctx, cancel := context.WithDeadline(c.Context(), deadline)
	defer cancel()
	return l.tryOnce(ctx)
}

// TryLockFor is [Locker.LockContext] that gives up after d: it returns false and
// no error when the time is up, and an error when ctx ended or something failed.
// With d <= 0 it tries once, without waiting for another owner, but for a
// connection as long as ctx lives. A false one leaves the lock as it was and no
// node behind.
func (l *Locker) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	ok, err := tryFor(ctx, d, l.tryOnce, l.lock)
	return ok, wrap("try", l.Path(), err)
}

func (l *Locker) tryOnce(ctx context.Context) error { return l.enter(ctx, l.tryTake) }

// tryFor calls wait under a ctx that ends after d, or once if d leaves no time to
// wait. It is false without an error when the time is up.
func tryFor(ctx context.Context, d time.Duration, once, wait func(context.Context) error) (bool, error) {
	var err error
	switch {
	case ctx.Err() != nil:
		return false, client.Ended(ctx)
	case d <= 0:
		err = once(ctx)
	default:
		timed, cancel := context.WithTimeoutCause(ctx, d, errTimeIsUp)
		defer cancel()
		err = wait(timed)
	}
	if err != nil && timeIsUp(ctx, err) {
		return false, nil
	}
	return err == nil, err
}

// timeIsUp tells whether err of a try says no more than that the lock was not to
// be had in time: in the time given, not in ctx's.
func timeIsUp(ctx context.Context, err error) bool {
	return errors.Is(err, errTimeIsUp) || ctx.Err() == nil && errors.Is(err, ErrLocked)
}

// errTimeIsUp is why the ctx of a try ends after the time given, whatever the cause of
// the caller's ctx.
var errTimeIsUp = errors.New("zklock: the time is up")

// tryTake is take without waiting for another owner, here or elsewhere.
func (l *Locker) tryTake(ctx context.Context) (*Hold, error) {
	if l.owner.Load() != nobody && l.queue.Client().Context().Err() == nil {
		return nil, l.attempt(ctx).failed(ErrLocked)
	}
	return l.tenancy.tryTake(ctx)
}
