package zklock

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"
)

// tenancy is how the owners in one process get a lock: from its queue, and then
// a share in what the process has of it, which an owner that has lost the lock
// keeps until its Unlock. So inside a process the lock is never weaker than a
// mutex.
type tenancy struct {
	queue  *queue
	from   acquirer
	shares *semaphore.Weighted // of readers and writers in common
	share  int64               // that an owner takes of them
}

// allShares is what an exclusive owner takes; a reader takes one.
const allShares = math.MaxInt64

// take waits for the lock, and for an owner that has lost it.
func (t *tenancy) take(ctx context.Context) (*Hold, error) {
	a := t.queue.attempt(ctx)
	for {
		h, err := t.from.acquire(ctx, a)
		if err != nil {
			return nil, a.failed(err)
		}
		if t.shares.TryAcquire(t.share) || t.enter(ctx, h) {
			return h, nil
		}
		switch {
		case h.contender.whyGone() == ErrClosed:
			return nil, a.failed(ErrClosed)
		case ctx.Err() != nil:
			return nil, a.failed(timedOut(ctx, ended(ctx)))
		}
	}
}

// enter waits until an owner that has lost the lock gives its share to h's. If that
// comes to nothing, h is given back.
func (t *tenancy) enter(ctx context.Context, h *Hold) (entered bool) {
	var end func()
	defer func() { // also if a context of the user's panics
		if !entered {
			h.expose(false) // nobody has owned it: there is nothing to retain
			h.leave(end)
		}
	}()
	held, detach := h.under(ctx)
	defer detach()
	if t.shares.Acquire(held, t.share) != nil {
		return false
	}
	end = t.end
	// The node may have been deleted meanwhile, unseen, between two connections.
	confirmed := h.contender.confirm(held) == nil
	detach()
	return confirmed && h.Err() == nil
}

// tryTake is take without waiting for another owner, here or elsewhere.
func (t *tenancy) tryTake(ctx context.Context) (*Hold, error) {
	a := t.queue.attempt(ctx)
	h, err := t.from.try(ctx, a)
	if err != nil {
		return nil, a.failed(err)
	}
	if !t.shares.TryAcquire(t.share) {
		h.expose(false)
		h.leave(nil)
		return nil, a.failed(ErrLocked)
	}
	return h, nil
}

// end gives the owner's share back.
func (t *tenancy) end() { t.shares.Release(t.share) }
