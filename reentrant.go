package zklock

import (
	"context"
	"sync/atomic"

	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/latch"
)

// Owners that are not a goroutine's id, which is positive.
const (
	nobody int64 = 0
	anyone int64 = -1 // WithoutOwner: locked, by whomever
)

// ownership says which goroutine owns a lock, and how often it locked it.
type ownership struct {
	owner atomic.Int64
	hold  atomic.Pointer[Hold] // the owner's; set before owner
	depth int                  // touched by the owner alone
}

// ownedBy tells whether goroutine id owns the lock. Only that goroutine itself
// can make it true or false, and so it needs no mutex.
func (o *ownership) ownedBy(id int64) bool { return o.owner.Load() == id }

// reenter locks once more for the owner. A hold that was lost is never taken
// again under an owner that believes it held all along.
func (o *ownership) reenter() error {
	if err := o.hold.Load().hold.Reentry(); err != nil {
		return err
	}
	o.depth++
	return nil
}

// enter makes the calling goroutine the owner, once more or by take.
func (l *Locker) enter(ctx context.Context, take func(context.Context) (*Hold, error)) error {
	if l.ownedBy(goid.Get()) {
		return l.reenter()
	}
	h, err := take(ctx)
	if err == nil {
		l.own(h)
	}
	return err
}

// own makes the calling goroutine the owner, or, WithoutOwner, anyone.
func (l *Locker) own(h *Hold) {
	l.hold.Store(h)
	if l.ownerless {
		l.owner.Store(anyone)
		return
	}
	l.depth = 1
	l.owner.Store(goid.Get())
}

// yield undoes one lock of the calling goroutine. It returns the hold, nil if
// the caller does not own it, and whether that was the outermost lock, after
// which there is no owner.
func (o *ownership) yield() (h *Hold, outermost bool) { return o.yieldIf(o.hold.Load()) }

// yieldIf is yield of a lock whose hold was h. WithoutOwner, two goroutines may unlock
// at once: one of them finds nothing, or the hold of who has locked since.
func (o *ownership) yieldIf(h *Hold) (_ *Hold, outermost bool) {
	owner := o.owner.Load()
	if h == nil || owner != anyone && owner != goid.Get() {
		return nil, false
	}
	if o.depth > 1 {
		o.depth--
		return h, false
	}
	if !o.hold.CompareAndSwap(h, nil) {
		return nil, false
	}
	o.owner.Store(nobody)
	return h, true
}

// Held returns the calling goroutine's hold, nil if it has none. Hand that to
// other goroutines rather than the Locker, whose methods speak of their caller.
func (l *Locker) Held() *Hold {
	if owner := l.owner.Load(); owner == anyone || owner == goid.Get() {
		return l.hold.Load()
	}
	return nil
}

// Lost returns the channel that closes when the calling goroutine's hold is lost
// (see [Hold.Lost]), or a closed one if it has no hold. It belongs to that
// goroutine: another one gets it through Held.
func (l *Locker) Lost() <-chan struct{} {
	if h := l.Held(); h != nil {
		return h.Lost()
	}
	return latch.Closed
}

// HoldCount returns how often the calling goroutine has locked the lock without
// unlocking it, be it lost or not.
func (l *Locker) HoldCount() int {
	switch l.owner.Load() {
	case anyone:
		return 1
	case goid.Get():
		return l.depth
	}
	return 0
}
