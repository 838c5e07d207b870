package sim

import (
	"slices"
	"time"
)

// stands takes a place in the queue of a lock, of which the trace is told.
func (c *call) stands(path, node string) {
	if before := c.places[path]; before != "" && before != node {
		c.world.checker.judgePlace(c, path, before, node)
	}
	c.places[path] = node
}

// judgePlace checks that a call which stood by one node and stands by another now, at the tail, had
// a reason to leave its place. There is none before a fault has struck its machine. Several locks
// start over when one of them is lost.
func (ck *checker) judgePlace(c *call, path, before, now string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	was, is := ck.nodeLocked(before), ck.nodeLocked(now)
	untouched := !ck.struck[c.machine.name] && !ck.struck[everywhere]
	if untouched || c.lock.several == nil && was != nil && is != nil && !ck.mayMove(c, path, was, is) {
		ck.failLocked("P3", "%s of %s by %s left %s for %s without a reason", c.what, path, c.name, base(before), base(now))
	}
}

// mayMove reports whether a call may have had to give up a place for another one: somebody has
// deleted its node, its number means nothing, its session is another one, its lease may have been
// over, be it before the create was carried out, or a server may have refused something. ck.mu is
// held.
func (ck *checker) mayMove(c *call, path string, was, is *node) bool {
	return ck.excused[was.path] != none || was.sequence < 0 || was.sequence >= orderEnd ||
		was.owner != is.owner || ck.leased(was.owner, c.since, is, c.machine.spec.Timeout) ||
		slices.ContainsFunc(ck.spells, func(s *spell) bool { return s.allows(path, c.machine.name, time.Time{}) })
}

// leased reports whether a session has had a lease to lose since then, but for that node: it held
// something, or was the next for it. Who is further behind waits for as long as the session lives,
// however little is heard from the servers, and what is only kept for an owner to come is no lease to
// lose. What an operator took is a lease until that runs out, if nobody could tell. ck.mu is held.
func (ck *checker) leased(session int64, since time.Time, but *node, timeout time.Duration) bool {
	return ck.anyLocked(func(n *node) bool {
		gone := n.gone
		if ck.excused[n.path] != none {
			gone = gone.Add(timeout)
		}
		lately := n.gone.IsZero() || !gone.Before(since)
		idle := !n.idle.IsZero() && n.idle.Before(since)
		return n != but && n.owner == session && lately && !idle && ck.isNext(n)
	})
}

// isNext reports whether at most one is ahead of n, or was when it went: nobody comes between. Who
// downgrades has two nodes of one number. What does not queue is held. ck.mu is held.
func (ck *checker) isNext(n *node) bool {
	ahead := n.behind
	if n.gone.IsZero() {
		ahead = ck.tree.ahead(n)
	}
	numbers := map[int64]bool{}
	for _, path := range ahead {
		number, _ := contender(path)
		numbers[number] = true
	}
	return len(numbers) <= 1
}
