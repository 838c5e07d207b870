package sim

import (
	"errors"
	"time"

	"github.com/zklock/zklock"
)

// claim is a lock that somebody believes to hold: from the return of the call
// that took it until the call that gives it back.
type claim struct {
	who    string
	path   string
	node   string // "" if unknown
	token  int64  // 0 if nobody asked for it
	read   bool
	units  int             // permits, of a semaphore
	told   <-chan struct{} // closed by a loss; nil for another library's lock, which does not tell
	hold   *zklock.Hold    // nil for another library's
	inc    *incarnation    // nil for another library's
	lock   *lock           // that made its goroutine the owner; nil for a handle
	beside *claim          // the write lock of the same owner
	more   []*claim        // the other locks of a MultiLocker
	early  bool            // was had before another lock of a MultiLocker was waited for
	since  time.Time
	depth  int           // how often its goroutine has locked it
	over   chan struct{} // closed when given back
}

// claim makes a claim by a handle.
func (v *visit) claim(s Section, h *zklock.Hold) *claim {
	c := &claim{
		who: v.name, path: v.lock.spec.Path, node: h.Node(), read: s.Read,
		told: h.Lost(), hold: h, inc: v.inc, depth: 1, over: make(chan struct{}),
	}
	if v.lock.permits != nil {
		c.units = s.Permits
	}
	if s.Fence {
		c.token = h.Token()
	}
	return c
}

// owned makes the claim of the calling goroutine, which has become the owner; nil
// if it has not.
func (v *visit) owned(s Section) *claim {
	var first *claim
	for _, h := range v.lock.held(s) {
		if h == nil {
			return nil
		}
		c := v.claim(s, h)
		c.lock, c.path = v.lock, dirOf(h.Node())
		if first == nil {
			first = c
			continue
		}
		for _, had := range first.parts() {
			had.early = true
		}
		first.more = append(first.more, c)
	}
	return first
}

// parts are the claims that c stands for: itself, and those of the other locks of
// a MultiLocker.
func (c *claim) parts() []*claim { return append([]*claim{c}, c.more...) }

// includes tells whether other is c, or held beside it; nothing includes any.
func (c *claim) includes(other *claim) bool {
	return c != nil && (c == other || c.beside.includes(other))
}

// believed tells whether the owner has no way to know that it does not hold the
// lock: it was not told of a loss, and has not closed its session.
func (c *claim) believed() bool {
	return c.told == nil || !c.lost() && !c.inc.closing.Load() && (c.hold == nil || !errors.Is(c.hold.Err(), zklock.ErrReleased))
}

// lost tells whether the owner was told that the lock is lost.
func (c *claim) lost() bool {
	select {
	case <-c.told:
		return true
	default:
		return false
	}
}

// isLost tells whether the library has ended c, or another that c stands for, as lost.
func (c *claim) isLost() bool {
	for _, part := range c.parts() {
		if errors.Is(part.hold.Err(), zklock.ErrLost) {
			return true
		}
	}
	return false
}

// conflicts tells whether c and other cannot both hold, by the rules of readers
// and writers.
func (c *claim) conflicts(other *claim) bool {
	return c.path == other.path && c.units == 0 && !(c.read && other.read) && c.beside != other && other.beside != c
}

// patience is how long after the end of its node, by whatever hand, a claim's
// owner may believe in it: no lease lasts longer.
func (c *claim) patience() time.Duration { return c.inc.session.Timeout() }
