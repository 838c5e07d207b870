package zklock

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"
)

// take gets the lock from the queue, and then a share of the tenancy, which an
// owner that has lost the lock keeps until its Unlock: inside one process the
// lock is never weaker than a mutex.
func (q *queue) take(ctx context.Context, tenancy *semaphore.Weighted, share int64) (*Hold, error) {
	a := q.attempt(ctx)
	for {
		h, err := q.acquire(ctx, a)
		if err != nil {
			return nil, a.failed(err)
		}
		if tenancy.TryAcquire(share) {
			return h, nil
		}
		held := h.under(ctx)
		entered := tenancy.Acquire(held, share) == nil
		// The node may have been deleted meanwhile, unseen, between two connections.
		if entered && h.contender.confirm(held) == nil && h.Err() == nil {
			return h, nil
		}
		lost := h.Err()
		h.leave()
		if entered {
			tenancy.Release(share)
		}
		switch {
		case errors.Is(lost, ErrReleased):
			return nil, a.failed(ErrClosed)
		case ctx.Err() != nil:
			return nil, a.failed(timedOut(ended(ctx)))
		}
	}
}

// tryTake is take without waiting for another owner, here or elsewhere.
func (q *queue) tryTake(ctx context.Context, tenancy *semaphore.Weighted, share int64) (*Hold, error) {
	a := q.attempt(ctx)
	h, err := q.try(ctx, a)
	if err != nil {
		return nil, a.failed(err)
	}
	if !tenancy.TryAcquire(share) {
		h.leave()
		return nil, a.failed(ErrLocked)
	}
	return h, nil
}
