package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/lease"
)

// TryLock takes the lock if nobody holds it or waits for it, and reports whether it did, as
// sync.Mutex.TryLock does. It is false on any failure too: at once while there is no
// connection, and at the latest after a third of the session timeout. When it is false no node
// is left behind. None was written, unless it lost a race, ran out of time, or was refused when it had
// its node: the session is closed, or permits of a semaphore or another recipe's nodes are at the path.
func (l *Locker) TryLock() bool { return l.exclusive().tryOnce() }

// TryLockFor is [Locker.LockContext] that gives up after d: it returns false and no error when
// the time is up, and an error when ctx ended or something failed. With d <= 0 it tries once,
// without waiting for another owner, but for a connection as long as ctx lives. When it is
// false the lock is as it was, and no node is left behind.
func (l *Locker) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	return tryFor(ctx, d, l.exclusive())
}

func (s *side) tryOnce() bool {
	must(s.made("try"))
	return s.tryLock(s.tryUntil()) == nil
}

// tryUntil returns when a try that begins now has to be over.
func (s *side) tryUntil() time.Time {
	return time.Now().Add(lease.TryLimit(s.queue.Client().Timeout()))
}

func (s *side) tryLock(deadline time.Time) error {
	if owner, err := s.owners.reenter(); owner {
		return err
	}
	c := s.queue.Client()
	if c.Current() == nil {
		return zk.ErrNoServer
	}
	ctx, cancel := context.WithDeadline(c.Context(), deadline)
	defer cancel()
	return s.owners.own(ctx, (*side).tryTake)
}

// tryFor asks for l and waits for d at most, or not at all if d leaves no time to wait. It is
// false without an error when the time is up.
func tryFor(ctx context.Context, d time.Duration, l asked) (bool, error) {
	up := errors.New("the time is up") // one of each call's own: another's may be why ctx ends
	err := l.made("try")
	switch {
	case err != nil:
	case client.HasEnded(ctx):
		return false, l.fail("try", client.Ended(ctx))
	case d <= 0:
		err = l.ask(ctx, "try", (*side).tryTake)
	default:
		err = askFor(ctx, d, up, l)
	}
	if err != nil && timeIsUp(ctx, err, up) {
		return false, nil
	}
	return err == nil, err
}

// askFor asks for l, and waits for d at most: then up is why it ends.
func askFor(ctx context.Context, d time.Duration, up error, l asked) error {
	timed, cancel := context.WithTimeoutCause(ctx, d, up)
	locked := false
	defer func() {
		orElse(cancel, func() {
			if locked {
				l.unlock(context.Background())
			}
		})
	}()
	err := l.ask(timed, "try", (*side).take)
	locked = err == nil
	return err
}

// timeIsUp reports whether err of a try says no more than that the lock was not to be had in
// time: in the time given, which ends with up, not in ctx's.
func timeIsUp(ctx context.Context, err, up error) bool {
	return errors.Is(err, up) || ctx.Err() == nil && errors.Is(err, ErrLocked)
}
