package zklock

import (
	"context"

	"github.com/zklock/zklock/internal/client"
)

// LockContext is [Locker.Lock] under ctx, as Java's lockInterruptibly: when ctx
// ends first it returns ctx's error, leaves the lock as it was and no node behind
// (it is deleted in the background). A ctx that has ended already never
// acquires. If the deadline passed while the caller stood in the queue, the
// error is [ErrLocked] as well as context.DeadlineExceeded.
//
// What cannot be ridden out is returned as an [*Error]: [ErrClosed], a refusal
// of the server, or [ErrLost] if the caller holds the lock already but has lost
// it.
func (l *Locker) LockContext(ctx context.Context) error {
	if ctx.Err() != nil {
		return wrap("lock", l.Path(), client.Ended(ctx))
	}
	return wrap("lock", l.Path(), l.lock(ctx))
}

// UnlockContext is [Locker.Unlock] that waits for ZooKeeper's confirmation and
// reports instead of panicking: [ErrNotHeld] if the calling goroutine does not
// own the lock, which stays as it is then, and [ErrLost] if the lock was lost.
// When ctx ends first, or has ended already, its error is returned; the lock is
// released all the same, in the background.
func (l *Locker) UnlockContext(ctx context.Context) error {
	return l.unlock(ctx, l.tenancy.end)
}

func (l *Locker) unlock(ctx context.Context, endTenancy func()) error {
	h, outermost := l.yield()
	var err error
	switch {
	case h == nil:
		err = l.misuse()
	case outermost:
		err = h.hold.Release(ctx, endTenancy)
	case h.hold.IsLost():
		err = ErrLost
	}
	return wrap("unlock", l.Path(), err)
}
