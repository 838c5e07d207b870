package zklock

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/latch"
)

// Owners that are not a goroutine's id, which is positive, nor goid.Unknown.
const (
	nobody int64 = 0
	anyone int64 = -1 // WithoutOwner: locked, by whomever
)

// ownership says which goroutine owns a lock, and how often it locked it.
type ownership struct {
	owner     atomic.Int64
	hold      atomic.Pointer[Hold] // the owner's; set before owner
	depth     int                  // touched by the owner alone
	ownerless bool                 // WithoutOwner
}

// ownedBy reports whether goroutine id owns the lock. Only that goroutine itself can make it
// true or false, and so it needs no mutex.
func (o *ownership) ownedBy(id int64) bool { return o.owner.Load() == id }

// reenter locks once more for the owner. A hold that was lost is never taken again under an
// owner that believes it held all along.
func (o *ownership) reenter() (owner bool, err error) {
	if !o.ownedBy(goid.Get()) {
		return false, nil
	}
	if err := o.hold.Load().hold.Err(); err != nil {
		return true, err
	}
	o.depth++
	return true, nil
}

// own makes the calling goroutine the owner, or, WithoutOwner, anyone.
func (l *Locker) own(ctx context.Context, take way) error {
	h, err := take(&l.side, ctx)
	if err != nil {
		return err
	}
	l.hold.Store(h)
	if l.ownerless {
		l.owner.Store(anyone)
		return nil
	}
	l.depth = 1
	l.owner.Store(goid.Get())
	return nil
}

// yield undoes one lock of the calling goroutine; after the outermost there is no owner.
func (o *ownership) yield() (h *Hold, outermost bool, share int64) {
	h, outermost = o.yieldIf(o.hold.Load())
	return h, outermost, allShares
}

// yieldIf is yield of a lock whose hold was h. WithoutOwner, two goroutines may unlock at once:
// one of them finds nothing, or the hold of who has locked since.
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

func (o *ownership) misuse() error {
	self := goid.Get()
	if owner := o.owner.Load(); owner > nobody {
		return fmt.Errorf("goroutine %d owns it, and the caller is goroutine %d: %w", owner, self, ErrNotHeld)
	}
	return fmt.Errorf("no goroutine owns it (the caller is goroutine %d): %w", self, ErrNotHeld)
}

// Held returns the calling goroutine's hold, nil if it has none. Give other goroutines this
// hold: the Locker's own methods answer for the goroutine that calls them.
func (l *Locker) Held() *Hold {
	must(l.exclusive().made("held"))
	if owner := l.owner.Load(); owner == anyone || owner == goid.Get() {
		return l.hold.Load()
	}
	return nil
}

// Lost returns the channel that closes when the calling goroutine's hold is lost (see
// [Hold.Lost]): that of its Lock, or of the Do whose function it runs. For any other goroutine it
// returns a closed one, though the lock is held, so that it stops: the channel of somebody else's hold
// says nothing of its own. Such a goroutine gets the [Hold] from the owner, by Held, or from the
// function's context, by [HoldFrom].
func (l *Locker) Lost() <-chan struct{} { return lostOf(l.mine()) }

// mine returns the calling goroutine's hold, as its owner or by the Do whose function it runs; nil if
// it has none.
func (l *Locker) mine() *Hold { return cmp.Or(l.Held(), l.doing.by(goid.Get())) }

// lostOf returns the channel that closes when h is lost, a closed one if there is no hold.
func lostOf(h *Hold) <-chan struct{} {
	if h == nil {
		return latch.Closed
	}
	return h.Lost()
}

// HoldCount returns how often the calling goroutine has locked the lock without unlocking it,
// be it lost or not.
func (l *Locker) HoldCount() int {
	must(l.exclusive().made("hold count"))
	switch l.owner.Load() {
	case anyone:
		return 1
	case goid.Get():
		return l.depth
	}
	return 0
}
