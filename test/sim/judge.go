package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// granted takes a call's success.
func (ck *checker) granted(c *claim) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.grantedLocked(c)
	for _, other := range c.more {
		ck.grantedLocked(other)
	}
}

func (ck *checker) grantedLocked(c *claim) {
	ck.stats.Grants.Add(1)
	ck.log.note(c.who, "holds %s by %s", c.path, base(c.node))
	if loss, lost := ck.lost[contenderOf(c.node)]; lost && !c.any && loss.at.Before(time.Now()) {
		ck.failLocked("P1", "%s got %s by %s, which was lost %v ago", c.who, c.path, base(c.node), time.Since(loss.at))
	}
	units := c.units + ck.judgeRests(c)
	for other := range ck.claims {
		held := other.believed() && !ck.excuses(other) && !ck.excuses(c)
		if held && c.conflicts(other) {
			ck.failLocked("P1", "%s got %s while %s holds it by %s", c.who, c.path, other.who, base(other.node))
		}
		if held && other.path == c.path {
			units += other.units
		}
		if other.lock != nil && other.lock == c.lock && c.conflicts(other) {
			ck.failLocked("P1", "%s got %s through a lock that %s has not unlocked", c.who, c.path, other.who)
		}
	}
	if last := ck.last[c.path]; last != nil && last.hold != nil && last.believed() && !last.released() && c.conflicts(last) && !ck.excuses(last) && !ck.excuses(c) {
		ck.failLocked("P1", "%s got %s before the hold that %s gives back has ended", c.who, c.path, last.who)
	}
	if units > permits {
		ck.failLocked("P1", "%s got %d of %s, of which %d are out now", c.who, c.units, c.path, units)
	}
	ck.claims[c] = struct{}{}
	if n := ck.tree[c.node]; n != nil {
		n.of, n.idle = c.of, time.Time{}
	}
	c.since = time.Now()
	if c.hold != nil && c.units == 0 && !c.any { // a call may have waited for more than this hold
		ck.begun[c.node] = c.since
	}
	ck.judgeNode(c)
	if c.hold != nil && ck.isAsked(c) {
		ck.heeds(c)
	}
	delete(ck.handed, c.node)
	if c.told != nil {
		go ck.follow(c)
	}
}

// judgeRests checks that no node that has to stay keeps c from its lock, and returns how many
// permits are kept by those that are over. ck.mu is held.
func (ck *checker) judgeRests(c *claim) (units int) {
	for other := range ck.resting {
		if ck.rests(other) == 0 {
			delete(ck.resting, other)
		}
		units += ck.judgeRest(c, other)
	}
	for other := range ck.claims {
		if other.told != nil && other.lost() {
			units += ck.judgeRest(c, other)
		}
	}
	return units
}

// judgeRest is judgeRests of one other, whose hold has ended. ck.mu is held.
func (ck *checker) judgeRest(c, other *claim) (units int) {
	switch left := ck.rests(other); {
	case left == 0, ck.excuses(c), ck.excuses(other):
	case c.conflicts(other):
		ck.failLocked("P1", "%s got %s while %s keeps %s for %v yet", c.who, c.path, other.who, base(other.node), left)
	case other.path == c.path:
		return min(other.units, ck.permitsOf(other))
	}
	return 0
}

// permitsOf returns how many permits c's nodes keep, of which an operator may have deleted some. ck.mu
// is held.
func (ck *checker) permitsOf(c *claim) (n int) {
	for path := range ck.tree {
		if contenderOf(path) == contenderOf(c.node) {
			n++
		}
	}
	return n
}

// judgeNode checks that a grant rests on a node that is, or was, first in the
// queue.
func (ck *checker) judgeNode(c *claim) {
	if c.node == "" {
		return
	}
	n, exists := ck.tree[c.node]
	if !exists {
		n = ck.gone[c.node]
		switch {
		case !c.believed():
		case n == nil || !ck.excuses(c) || time.Since(n.gone) > c.patience() && !ck.deafens(c):
			ck.failLocked("P7", "%s got %s by %s, which does not exist", c.who, c.path, base(c.node))
		case c.units > 0 && time.Since(n.gone) == 0: // the answer to its create may be as old
		case ck.excused[c.node] == unseen && !c.early && !ck.kept[c.node] && !ck.followed(n): // a server may still show it
			ck.failLocked("P7", "%s got %s by %s, which was gone before the connection was made", c.who, c.path, base(c.node))
		case ck.excused[c.node] == bySession && !ck.wasFirst(n):
			ck.failLocked("P7", "%s got %s by %s, which never was the first", c.who, c.path, base(c.node))
		}
		return
	}
	if n.queues {
		ck.judgeOrder(c, n)
	}
	if c.told == nil {
		return
	}
	ck.judgeToken(c, n)
}

// judgeToken checks that a store which refuses tokens below the highest it has
// seen never refuses the rightful holder.
func (ck *checker) judgeToken(c *claim, n *node) {
	if c.units > 0 || c.token == 0 {
		return // holders of permits do not follow each other
	}
	seen := ck.tokens[c.path]
	if seen == nil {
		seen = new(highest)
		ck.tokens[c.path] = seen
	}
	if c.token < seen.writer || c.token == seen.writer && c.beside == nil || !c.read && c.token <= seen.any {
		ck.failLocked("token", "%s has the token %#x after one of %#x", c.who, c.token, max(seen.writer, seen.any))
	}
	if c.beside == nil && c.token != n.created { // a downgraded reader goes on with its writer's
		ck.failLocked("token", "%s has the token %#x for a node created by %#x", c.who, c.token, n.created)
	}
	seen.any = max(seen.any, c.token)
	if !c.read {
		seen.writer = c.token
	}
}

// judgeOrder checks that the queue is served in its order. Within a session a
// lock may be handed past nodes that their owners have given up.
func (ck *checker) judgeOrder(c *claim, n *node) {
	for _, path := range ck.tree.ahead(n) {
		switch other := ck.tree[path]; {
		case ck.handed[path]:
		case other.owner == n.owner && !ck.claimed(other):
			ck.passed[path] = base(n.path)
		default:
			ck.failLocked("P3", "%s got %s by %s while %s is ahead", c.who, c.path, base(n.path), base(path))
		}
	}
	if by, late := ck.passed[n.path]; late {
		ck.failLocked("P3", "%s got %s by %s after %s", c.who, c.path, base(n.path), by)
	}
	if c.told != nil && (n.sequence < 0 || n.sequence >= orderEnd) {
		ck.failLocked("P1", "%s got %s by %s, whose number means nothing", c.who, c.path, base(n.path))
	}
}

// claimed reports whether somebody holds by n. ck.mu is held.
func (ck *checker) claimed(n *node) bool {
	for c := range ck.claims {
		if c.node == n.path {
			return true
		}
	}
	return false
}

// wasFirst reports whether everybody who was ahead of n when it went had given up
// before that, or has given up since.
func (ck *checker) wasFirst(n *node) bool {
	for _, path := range n.behind {
		other := ck.gone[path]
		passed := other != nil && other.owner == n.owner && !ck.claimed(other) // by a hand-over in their session
		if !ck.handed[path] && !passed {
			return false
		}
	}
	return true
}

// followed reports whether n's owner was handed the lock, or n itself, by another of
// its session, who may have been a MultiLocker that did not get all its locks.
func (ck *checker) followed(n *node) bool {
	if ck.handed[n.path] {
		return true
	}
	for path := range ck.begun {
		other := ck.nodeLocked(path)
		if other != nil && other.owner == n.owner && dirOf(path) == dirOf(n.path) && other.sequence < n.sequence &&
			(slices.Contains(n.behind, path) || ck.excused[path] != none) {
			return true
		}
	}
	return false
}

// excuses reports whether c was taken from its owner in a way that its lock cannot
// see coming. ck.mu is held.
func (ck *checker) excuses(c *claim) bool {
	if c.told == nil {
		return ck.tree[c.node] == nil && c.node != ""
	}
	if c.units == 0 {
		return ck.excused[c.node] != none && ck.tree[c.node] == nil
	}
	for path, why := range ck.excused { // a permit each, named after the same contender
		if why != none && ck.tree[path] == nil && contenderOf(path) == contenderOf(c.node) {
			return true
		}
	}
	return false
}

// judgeDelete checks what becomes of a node that somebody holds a lock by.
func (ck *checker) judgeDelete(txn zktest.Txn, change zktest.Change) {
	for c := range ck.claims {
		if c.node == change.Path && c.told != nil {
			time.AfterFunc(c.patience(), func() { ck.judgeBelief(c) })
		}
	}
	if ck.excused[change.Path] != none {
		return
	}
	if ck.doomed[txn.Session] && change.Cause == zktest.CauseExpiry {
		ck.excused[change.Path] = bySession
		return
	}
	ck.judgeEarly(txn, change)
	for c := range ck.claims {
		switch {
		case c.node != change.Path || c.told == nil || !c.believed():
		case change.Cause != zktest.CauseExpiry:
			ck.failLocked("P1", "session %#x deleted %s while %s holds %s by it", txn.Session, base(change.Path), c.who, c.path)
		default:
			ck.failLocked("P2", "the session of %s ended while it believes to hold %s by %s", c.who, c.path, base(change.Path))
		}
	}
}

// judgeParents checks that the library makes no parent without a node in it, which nobody may be
// able to use, and no server removes. What an operator makes is made alone, and a path that is made
// anew was there.
func (ck *checker) judgeParents(txn zktest.Txn) {
	if txn.Op != zktest.OpMulti && txn.Op != zktest.OpCreateContainer {
		return
	}
	for _, parent := range txn.Changes {
		isUsed := func(c zktest.Change) bool {
			return c.Kind == zktest.NodeCreated && dirOf(c.Path) == parent.Path || c.Kind == zktest.NodeDeleted && c.Path == parent.Path
		}
		if parent.Kind == zktest.NodeCreated && parent.Owner == 0 && !slices.ContainsFunc(txn.Changes, isUsed) {
			ck.failLocked("P4", "session %#x has made %s, and nothing in it", txn.Session, parent.Path)
		}
	}
}

// judgeEarly checks that no session deletes a node of its own before that has stayed for its
// minimum, or its grace after a loss, unless it is closed.
func (ck *checker) judgeEarly(txn zktest.Txn, change zktest.Change) {
	if change.Cause == zktest.CauseExpiry || txn.Session != ck.tree[change.Path].owner {
		return
	}
	for _, claims := range []map[*claim]struct{}{ck.claims, ck.resting} {
		for c := range claims {
			if left := ck.rests(c); c.node == change.Path && left > 0 && !c.inc.ends() {
				ck.failLocked("P1", "%s of %s is deleted %v before its time is over", base(c.node), c.who, left)
			}
		}
	}
}

// judgeDrained checks that a Shutdown that was in time has taken nothing from its owner.
func (ck *checker) judgeDrained(s *zklock.Session) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for c := range ck.claims {
		if c.inc != nil && slices.Contains(c.inc.sessions(), s) && errors.Is(c.hold.Err(), zklock.ErrClosed) {
			ck.failLocked("P2", "%s has lost %s by a Shutdown that had time", c.who, c.path)
		}
	}
}

// judgeBelief checks that c's owner was told of the end of its node.
func (ck *checker) judgeBelief(c *claim) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	if _, held := ck.claims[c]; held && c.believed() {
		ck.failLocked("P2", "%s believes to hold %s %v after its node went", c.who, c.path, c.patience())
	}
}
