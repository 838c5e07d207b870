package zklock

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/queue"
)

// tenancy is how the owners in one process get a lock: from its queue, and then
// a share in what the process has of it, which an owner that has lost the lock
// keeps until its Unlock. So inside a process the lock is never weaker than a
// mutex.
type tenancy struct {
	queue  *queue.Queue
	from   queue.Source
	trace  *Trace              // nil without WithTrace
	shares *semaphore.Weighted // of readers and writers in common
	share  int64               // that an owner takes of them
}

// allShares is what an exclusive owner takes; a reader takes one.
const allShares = math.MaxInt64

// attempt begins a call under ctx.
func (t *tenancy) attempt(ctx context.Context) *attempt {
	return newAttempt(ctx, t.trace, t.queue.Path())
}

// handle takes the lock by get for whoever has the Hold.
func (t *tenancy) handle(
	ctx context.Context, op string, get func(context.Context, queue.Call) (*queue.Hold, error),
) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, wrap(op, t.queue.Path(), client.Ended(ctx))
	}
	a := t.attempt(ctx)
	h, err := get(ctx, a)
	return holdOf(h), wrap(op, t.queue.Path(), a.failed(err))
}

// take waits for the lock, and for an owner that has lost it.
func (t *tenancy) take(ctx context.Context) (*Hold, error) {
	a := t.attempt(ctx)
	for {
		got, err := t.from.Acquire(ctx, a)
		if err != nil {
			return nil, a.failed(err)
		}
		h := holdOf(got)
		if t.shares.TryAcquire(t.share) || t.enter(ctx, h) {
			return h, nil
		}
		switch {
		case h.hold.Closed():
			return nil, a.failed(ErrClosed)
		case ctx.Err() != nil:
			return nil, a.failed(queue.TimedOut(ctx, client.Ended(ctx)))
		}
	}
}

// enter waits until an owner that has lost the lock gives its share to h's. If that
// comes to nothing, h is given back.
func (t *tenancy) enter(ctx context.Context, h *Hold) (entered bool) {
	var end func()
	defer func() { // also if a context of the user's panics
		if !entered {
			h.hold.Expose(false) // nobody has owned it: there is nothing to retain
			h.hold.Leave(end)
		}
	}()
	held, detach := h.under(ctx)
	defer detach()
	if t.shares.Acquire(held, t.share) != nil {
		return false
	}
	end = t.end
	// The node may have been deleted meanwhile, unseen, between two connections.
	confirmed := h.hold.Confirm(held) == nil
	detach()
	return confirmed && h.Err() == nil
}

// tryTake is take without waiting for another owner, here or elsewhere.
func (t *tenancy) tryTake(ctx context.Context) (*Hold, error) {
	a := t.attempt(ctx)
	got, err := t.from.Try(ctx, a)
	if err != nil {
		return nil, a.failed(err)
	}
	h := holdOf(got)
	if !t.shares.TryAcquire(t.share) {
		h.hold.Expose(false)
		h.hold.Leave(nil)
		return nil, a.failed(ErrLocked)
	}
	return h, nil
}

// end gives the owner's share back.
func (t *tenancy) end() { t.shares.Release(t.share) }
