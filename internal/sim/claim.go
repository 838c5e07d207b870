package sim

import (
	"errors"

	"github.com/zklock/zklock"
)

// claim is a lock that somebody believes to hold: from the return of the call
// that took it until the call that gives it back.
type claim struct {
	who    string
	path   string
	node   string
	token  int64
	hold   *zklock.Hold   // nil for another library's lock, which does not tell of losses
	inc    *incarnation   // nil for another library's
	locker *zklock.Locker // nil for a handle
	over   chan struct{}  // closed when given back
}

// claims makes a claim of the visitor by h.
func (v *visit) claims(h *zklock.Hold) *claim {
	return &claim{
		who: v.name, path: v.path, node: h.Node(), token: h.Token(),
		hold: h, inc: v.inc, over: make(chan struct{}),
	}
}

// believed tells whether the owner has no way to know that it does not hold the
// lock: it was not told of a loss, and has not closed its session.
func (c *claim) believed() bool {
	return c.hold == nil || !c.lost() && !c.inc.closing.Load() && !errors.Is(c.hold.Err(), zklock.ErrReleased)
}

// lost tells whether the owner was told that the lock is lost.
func (c *claim) lost() bool {
	select {
	case <-c.hold.Lost():
		return true
	default:
		return false
	}
}
