package zklock

import (
	"context"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/queue"
)

// LockContext is [Locker.Lock] under ctx, as Java's lockInterruptibly: when ctx ends first it
// returns ctx's error, leaves the lock as it was and no node behind (it is deleted in the
// background). A ctx that has ended already never acquires. If the deadline passed while the
// caller stood in the queue, the error is [ErrLocked] as well as context.DeadlineExceeded.
//
// What no further try can mend is returned as an [*Error]: [ErrClosed], a refusal of the
// server, [ErrLost] if the caller owns the lock already but has lost it, [ErrReleased] if it has
// released it by [Hold.Release] and not by Unlock, or [ErrDeadlock] at once if ctx carries a hold
// of this lock, from [Locker.Do] or [Hold.Context].
func (l *Locker) LockContext(ctx context.Context) error {
	return l.exclusive().lock(ctx)
}

// UnlockContext is [Locker.Unlock] that waits for ZooKeeper's confirmation, as [Hold.Release]
// does, and reports instead of panicking: [ErrNotHeld] if the calling goroutine does not own the
// lock, which stays as it is then, and [ErrLost] with its cause if the lock was lost. When ctx ends first, or has ended
// already, its error is returned; the lock is released all the same, in the background.
func (l *Locker) UnlockContext(ctx context.Context) error {
	return l.exclusive().unlockContext(ctx)
}

// side is a lock that goroutines own: a Locker, which is also the write side of an RWLocker, or
// the read side. What the calls of both do is written here once, and in trylock.go for those
// that do not wait.
type side struct {
	gate
	owners owners
	doing  doing
	prefix string // of the operations' names in errors
}

// owners are the goroutines that own a side, and how often each has locked it.
type owners interface {
	// reenter locks once more if the calling goroutine is an owner, and reports whether it is.
	reenter() (owner bool, err error)
	// own makes the calling goroutine an owner by what take gets.
	own(ctx context.Context, take way) error
	// yield undoes one lock of the calling goroutine. It returns the hold, nil if the caller is
	// no owner; whether that was the outermost lock; and the owner's share in the gate, which
	// goes back when the hold has ended.
	yield() (h *Hold, outermost bool, share int64)
	// misuse says why there was nothing to yield.
	misuse() error
}

// way is how one side is got: take or tryTake.
type way func(*side, context.Context) (*Hold, error)

// asked is what can be asked for in each way: a side, or all those of a MultiLocker.
type asked interface {
	// made returns what is wrong with it if no constructor has made it.
	made(op string) error
	// ask locks once more, or in that way; its error is that of op.
	ask(ctx context.Context, op string, by way) error
	// unlock gives back what one ask has locked, without ZooKeeper's confirmation.
	unlock(ctx context.Context)
	// fail makes err, unless it is nil, the error of op.
	fail(op string, err error) error
}

// lock locks once more or waits until it is its turn, but under a ctx that has ended neither.
func (s *side) lock(ctx context.Context) error {
	if err := s.made("lock"); err != nil {
		return err
	}
	if client.HasEnded(ctx) {
		return s.fail("lock", client.Ended(ctx))
	}
	return s.ask(ctx, "lock", (*side).take)
}

func (s *side) ask(ctx context.Context, op string, by way) error {
	owner, err := s.owners.reenter()
	if !owner {
		err = s.owners.own(ctx, by)
	}
	return s.fail(op, err)
}

func (s *side) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(s.prefix+op, s.queue.Path(), s.queue.Client().Explain(err))
}

// unlock gives back what one lock took, without ZooKeeper's confirmation.
func (s *side) unlock(ctx context.Context) {
	must(s.made("unlock"))
	h, outermost, share := s.owners.yield()
	switch {
	case h == nil:
		panic(s.fail("unlock", s.owners.misuse()))
	case outermost:
		h.hold.SendRelease(ctx, func() { s.shares.Release(share) })
	}
}

func (s *side) unlockContext(ctx context.Context) error {
	if err := s.made("unlock"); err != nil {
		return err
	}
	client.NeedsContext(ctx)
	h, outermost, share := s.owners.yield()
	var err error
	switch {
	case h == nil:
		err = s.owners.misuse()
	case outermost:
		err = h.hold.Release(ctx, func() { s.shares.Release(share) })
	case h.hold.IsLost():
		err = h.hold.Err()
	}
	return s.fail("unlock", err)
}

// handle takes the lock by get for whoever has the Hold.
func (s *side) handle(
	ctx context.Context, op string, get func(*gate, context.Context, *attempt) (*queue.Hold, error),
) (*Hold, error) {
	if err := s.made(op); err != nil {
		return nil, err
	}
	if client.HasEnded(ctx) {
		return nil, s.fail(op, client.Ended(ctx))
	}
	a := s.attempt(ctx)
	h, err := get(&s.gate, ctx, a)
	return holdOf(h), s.fail(op, a.failed(err))
}
