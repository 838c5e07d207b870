package sim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// sure is until when a hold says that it lasts, whatever is or is not heard of the servers.
type sure struct {
	until   time.Time
	timeout time.Duration // of its session then
}

// asksUntil notes until when c's hold says that it lasts.
func (c *claim) asksUntil() {
	if c.hold == nil {
		return
	}
	if until, held := c.hold.Until(); held {
		c.sure.Store(&sure{until, c.inc.session.Timeout()})
	}
}

// askUntil has all claims ask, right before a fault.
func (ck *checker) askUntil() {
	ck.mu.Lock()
	claims := slices.Collect(maps.Keys(ck.claims))
	ck.mu.Unlock()
	for _, c := range claims {
		c.asksUntil()
	}
}

// mislead takes that a fault gives a machine another time, or another session, which no hold can see coming.
func (ck *checker) mislead(machine string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.misled[machine] = true
}

// judgeUntil checks that c was not lost before the time until when it was to last.
func (ck *checker) judgeUntil(c *claim) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	told, n := c.sure.Load(), ck.nodeLocked(c.node)
	machine, _, _ := strings.Cut(c.who, "/")
	switch {
	case told == nil || !time.Now().Before(told.until):
	case ck.misled[machine], c.inc.session.Timeout() < told.timeout: // by a server that grants less: see Hold.ValidFor
	case slices.ContainsFunc(ck.spells, func(s *spell) bool { return s.bears(c) }):
	case c.inc.closing.Load(), ck.excuses(c), n != nil && ck.doomed[n.owner]:
	default:
		ck.failLocked("P2", "%s lost %s by %s %v before the time until when that was to last", c.who, c.path, base(c.node), time.Until(told.until))
	}
}
