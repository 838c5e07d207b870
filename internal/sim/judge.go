package sim

import (
	"slices"
	"time"

	"github.com/zklock/zklock/zktest"
)

// granted takes a call's success.
func (r *referee) granted(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grantedLocked(c)
	for _, other := range c.more {
		r.grantedLocked(other)
	}
}

func (r *referee) grantedLocked(c *claim) {
	r.stats.Grants.Add(1)
	r.log.note(c.who, "holds %s by %s", c.path, base(c.node))
	units := c.units
	for other := range r.claims {
		held := other.believed() && !r.excuses(other) && !r.excuses(c)
		if held && c.conflicts(other) {
			r.failLocked("P1", "%s got %s while %s holds it by %s", c.who, c.path, other.who, base(other.node))
		}
		if held && other.path == c.path {
			units += other.units
		}
		if other.lock != nil && other.lock == c.lock && c.conflicts(other) {
			r.failLocked("P1", "%s got %s through a lock that %s has not unlocked", c.who, c.path, other.who)
		}
	}
	if last := r.last[c.path]; last != nil && last.hold != nil && last.believed() && c.conflicts(last) && !r.excuses(last) && !r.excuses(c) {
		r.failLocked("P1", "%s got %s before the hold that %s gives back has ended", c.who, c.path, last.who)
	}
	if units > permits {
		r.failLocked("P1", "%s got %d of %s, of which %d are out now", c.who, c.units, c.path, units)
	}
	r.claims[c] = struct{}{}
	c.since = time.Now()
	r.judgeNode(c)
	delete(r.handed, c.node)
	if c.told != nil {
		go r.follow(c)
	}
}

// judgeNode checks that a grant rests on a node that is, or was, first in the
// queue.
func (r *referee) judgeNode(c *claim) {
	if c.node == "" {
		return
	}
	n, exists := r.tree[c.node]
	if !exists {
		n = r.gone[c.node]
		switch {
		case !c.believed():
		case n == nil || !r.excuses(c) || time.Since(n.gone) > c.patience():
			r.failLocked("P7", "%s got %s by %s, which does not exist", c.who, c.path, base(c.node))
		case r.excused[c.node] == unseen && !c.early && !r.followed(n):
			r.failLocked("P7", "%s got %s by %s, which was gone before the connection was made", c.who, c.path, base(c.node))
		case r.excused[c.node] == bySession && !r.wasFirst(n):
			r.failLocked("P7", "%s got %s by %s, which never was the first", c.who, c.path, base(c.node))
		}
		return
	}
	if n.queues {
		r.judgeOrder(c, n)
	}
	if c.told == nil {
		return
	}
	r.judgeToken(c, n)
}

// judgeToken checks that a store which refuses tokens below the highest it has
// seen never refuses the rightful holder.
func (r *referee) judgeToken(c *claim, n *node) {
	if c.units > 0 || c.token == 0 {
		return // holders of permits do not follow each other
	}
	seen := r.tokens[c.path]
	if seen == nil {
		seen = new(highest)
		r.tokens[c.path] = seen
	}
	if c.token < seen.writer || c.token == seen.writer && c.beside == nil || !c.read && c.token <= seen.any {
		r.failLocked("token", "%s has the token %#x after one of %#x", c.who, c.token, max(seen.writer, seen.any))
	}
	if c.beside == nil && c.token != n.created { // a downgraded reader goes on with its writer's
		r.failLocked("token", "%s has the token %#x for a node created by %#x", c.who, c.token, n.created)
	}
	seen.any = max(seen.any, c.token)
	if !c.read {
		seen.writer = c.token
	}
}

// judgeOrder checks that the queue is served in its order. Within a session a
// lock may be handed past nodes that their owners have given up.
func (r *referee) judgeOrder(c *claim, n *node) {
	for _, path := range r.tree.ahead(n) {
		switch other := r.tree[path]; {
		case r.handed[path]:
		case other.owner == n.owner && !r.claimed(other):
			r.passed[path] = base(n.path)
		default:
			r.failLocked("P3", "%s got %s by %s while %s is ahead", c.who, c.path, base(n.path), base(path))
		}
	}
	if by, late := r.passed[n.path]; late {
		r.failLocked("P3", "%s got %s by %s after %s", c.who, c.path, base(n.path), by)
	}
	if c.told != nil && (n.sequence < 0 || n.sequence >= orderEnd) {
		r.failLocked("P1", "%s got %s by %s, whose number means nothing", c.who, c.path, base(n.path))
	}
}

// claimed tells whether somebody holds by n. r.mu is held.
func (r *referee) claimed(n *node) bool {
	for c := range r.claims {
		if c.node == n.path {
			return true
		}
	}
	return false
}

// wasFirst tells whether everybody who was ahead of n when it went had given up
// before that, or has given up since.
func (r *referee) wasFirst(n *node) bool {
	for _, path := range n.behind {
		other := r.gone[path]
		passed := other != nil && other.owner == n.owner && !r.claimed(other) // by a hand-over in their session
		if !r.handed[path] && !passed {
			return false
		}
	}
	return true
}

// followed tells whether n's owner was handed the lock, or n itself, by another of
// its session.
func (r *referee) followed(n *node) bool {
	if r.handed[n.path] {
		return true
	}
	for path := range r.handed {
		other := r.tree[path]
		if other == nil {
			other = r.gone[path]
		}
		if other != nil && other.owner == n.owner && dirOf(path) == dirOf(n.path) && other.sequence < n.sequence &&
			(slices.Contains(n.behind, path) || r.excused[path] == unseen) {
			return true
		}
	}
	return false
}

// excuses tells whether c was taken from its owner in a way that its lock cannot
// see coming. r.mu is held.
func (r *referee) excuses(c *claim) bool {
	if c.told == nil {
		return r.tree[c.node] == nil && c.node != ""
	}
	if c.units == 0 {
		return r.excused[c.node] != none && r.tree[c.node] == nil
	}
	for path, why := range r.excused { // a permit each, named after the same contender
		if why != none && r.tree[path] == nil && contenderOf(path) == contenderOf(c.node) {
			return true
		}
	}
	return false
}

// judgeDelete checks what becomes of a node that somebody holds a lock by.
func (r *referee) judgeDelete(txn zktest.Txn, change zktest.Change) {
	for c := range r.claims {
		if c.node == change.Path && c.told != nil {
			time.AfterFunc(c.patience(), func() { r.judgeBelief(c) })
		}
	}
	if r.excused[change.Path] != none {
		return
	}
	if r.doomed[txn.Session] && change.Cause == zktest.CauseExpiry {
		r.excused[change.Path] = bySession
		return
	}
	for c := range r.claims {
		switch {
		case c.node != change.Path || c.told == nil || !c.believed():
		case change.Cause != zktest.CauseExpiry:
			r.failLocked("P1", "session %#x deleted %s while %s holds %s by it", txn.Session, base(change.Path), c.who, c.path)
		default:
			r.failLocked("P2", "the session of %s ended while it believes to hold %s by %s", c.who, c.path, base(change.Path))
		}
	}
}

// judgeBelief checks that c's owner was told of the end of its node.
func (r *referee) judgeBelief(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, held := r.claims[c]; held && c.believed() {
		r.failLocked("P2", "%s believes to hold %s %v after its node went", c.who, c.path, c.patience())
	}
}
