package zklock

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/queue"
	"github.com/zklock/zklock/internal/recipe"
)

// gate is how the owners in one process get a lock: from its queue, and then a share in what
// the process has of it, which an owner that has lost the lock keeps until its Unlock. So
// inside a process the lock is never weaker than a mutex.
type gate struct {
	queue  *queue.Queue
	from   queue.Source
	trace  *Trace  // nil without WithTrace
	shares *shares // of readers and writers in common
	share  int64   // that an owner takes of them
}

// allShares is what an exclusive owner takes; a reader takes one.
const allShares = math.MaxInt64

// shares are what the owners in one process have of a lock, be it lost or not.
type shares struct {
	*semaphore.Weighted
	taken atomic.Int64
}

func newShares() *shares { return &shares{Weighted: semaphore.NewWeighted(allShares)} }

func (s *shares) Acquire(ctx context.Context, n int64) error {
	err := s.Weighted.Acquire(ctx, n)
	if err == nil {
		s.taken.Add(n)
	}
	return err
}

func (s *shares) TryAcquire(n int64) bool {
	taken := s.Weighted.TryAcquire(n)
	if taken {
		s.taken.Add(n)
	}
	return taken
}

func (s *shares) Release(n int64) {
	s.taken.Add(-n)
	s.Weighted.Release(n)
}

// lack reports whether n are not to be had.
func (s *shares) lack(n int64) bool { return s.taken.Load() > allShares-n }

func (g *gate) attempt(ctx context.Context) *attempt {
	return newAttempt(ctx, g.trace, g.queue.Path())
}

// acquire waits for the lock, but not for a hold that ctx carries: that would never end.
func (g *gate) acquire(ctx context.Context, a *attempt) (*queue.Hold, error) {
	if err := g.deadlock(ctx); err != nil {
		return nil, err
	}
	return a.keep(ctx, g.from.Acquire)
}

// try does not wait for another owner.
func (g *gate) try(ctx context.Context, a *attempt) (*queue.Hold, error) {
	return a.keep(ctx, g.from.Try)
}

// deadlock returns ErrDeadlock if a hold that ctx carries keeps a call under it from the lock.
func (g *gate) deadlock(ctx context.Context) error {
	return waitsFor(ctx, func(h *Hold) bool { return h.hold.Blocks(g.queue) })
}

// shut is deadlock for an owner, who waits for the share of one that has lost the lock, too.
func (g *gate) shut(ctx context.Context) error {
	return waitsFor(ctx, func(h *Hold) bool { return h.shares == g.shares && h.hold.Excludes(g.queue) })
}

// barred is why nobody can come to own the lock under ctx.
func (g *gate) barred(ctx context.Context) error { return cmp.Or(g.shut(ctx), g.deadlock(ctx)) }

// waitsFor returns ErrDeadlock if one of the holds that ctx carries is in the way.
func waitsFor(ctx context.Context, inTheWay func(*Hold) bool) error {
	for c := carriedBy(ctx); c != nil; c = c.outer {
		switch {
		case !inTheWay(c.hold):
		case c.hold.hold.Kind() == recipe.Read:
			return fmt.Errorf("%w: %w", ErrDeadlock, ErrUpgrade)
		default:
			return ErrDeadlock
		}
	}
	return nil
}

// take waits for the lock, and for an owner that has lost it.
func (g *gate) take(ctx context.Context) (*Hold, error) {
	a := g.attempt(ctx)
	if err := g.shut(ctx); err != nil {
		return nil, a.failed(err)
	}
	for {
		got, err := g.acquire(ctx, a)
		if err != nil {
			return nil, a.failed(err)
		}
		h := holdOf(got)
		if g.shares.TryAcquire(g.share) || g.enter(ctx, h) {
			h.shares = g.shares
			return h, nil
		}
		if ctx.Err() != nil {
			return nil, a.failed(queue.TimedOut(ctx, client.Ended(ctx)))
		}
	}
}

// enter waits until an owner that has lost the lock gives its share to h's. If that comes to
// nothing, as when the session is shut down meanwhile, h is given back.
func (g *gate) enter(ctx context.Context, h *Hold) (entered bool) {
	var leave func()
	defer func() { // also if a context of the user's panics
		if !entered {
			h.hold.ReleaseUnused(leave)
		}
	}()
	held, detach := while([]*Hold{h}, ctx)
	defer detach()
	h.hold.AwaitOthers()
	stop := context.AfterFunc(g.queue.Admission(), func() { h.hold.ReleaseUnused(nil) })
	if g.shares.Acquire(held, g.share) != nil {
		stop()
		return false
	}
	leave = g.leave
	if !stop() {
		return false
	}
	// The node may have been deleted meanwhile, unseen, between two connections.
	confirmed := h.hold.Confirm(held) == nil
	detach()
	h.hold.StartMinimum()
	return confirmed && h.Err() == nil
}

// tryTake is take without waiting for another owner, here or elsewhere.
func (g *gate) tryTake(ctx context.Context) (*Hold, error) {
	a := g.attempt(ctx)
	if g.shares.lack(g.share) && g.queue.Admission().Err() == nil {
		return nil, a.failed(ErrLocked)
	}
	got, err := g.try(ctx, a)
	if err != nil {
		return nil, a.failed(err)
	}
	h := holdOf(got)
	if !g.shares.TryAcquire(g.share) {
		h.hold.ReleaseUnused(nil)
		return nil, a.failed(ErrLocked)
	}
	h.shares = g.shares
	return h, nil
}

func (g *gate) leave() { g.shares.Release(g.share) }
