package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/zklock/zklock/zktest"
)

// proofOfLife says that the library ends its holds before the server can give the
// lock away. Without it, a holder whose session has expired is excused.
const proofOfLife = true

// orderEnd is the sequence from which order means nothing.
const orderEnd = 1<<31 - 1<<16

// referee watches every call's result and every committed transaction, and
// judges them as they come.
type referee struct {
	log     *timeline
	stats   *Stats
	broken  chan struct{} // closed by the first broken promise
	moments moments

	tick time.Duration

	mu      sync.Mutex
	failure *Failure
	thawed  time.Time // when a server last went on
	tree    nodes
	claims  map[*claim]struct{} // that nobody has given back
	excused map[string]excuse   // nodes that a fault takes from their owner
	expired map[int64]bool      // sessions that the server has ended
	doomed  map[int64]bool      // sessions that a fault ends before their time
	handed  map[string]bool     // nodes whose owner has given them back
	gone    map[string]*node    // contenders that are no more
	passed  map[string]string   // nodes that another of their session went past, which may not be granted any more
	tokens  map[string]*highest // of each path
}

// excuse is why the owner of a node could not know that it is gone.
type excuse int

const (
	none       excuse = iota
	byOperator        // who deleted the node
	unseen            // by the operator, before the owner made its next connection
	bySession         // which was ended before its time
)

// highest are the highest fencing tokens that were given out.
type highest struct{ writer, any int64 }

func newReferee(log *timeline, stats *Stats) *referee {
	return &referee{
		log: log, stats: stats, broken: make(chan struct{}),
		tree:    make(nodes),
		claims:  make(map[*claim]struct{}),
		excused: make(map[string]excuse),
		expired: make(map[int64]bool),
		doomed:  make(map[int64]bool),
		handed:  make(map[string]bool),
		gone:    make(map[string]*node),
		passed:  make(map[string]string),
		tokens:  make(map[string]*highest),
	}
}

// fail reports a broken promise. The first one counts.
func (r *referee) fail(promise, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failLocked(promise, format, args...)
}

func (r *referee) failLocked(promise, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.log.note("REFEREE", "%s: %s", promise, text)
	if r.failure == nil {
		r.failure = &Failure{Promise: promise, Text: text}
		close(r.broken)
	}
}

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
	if units > permits {
		r.failLocked("P1", "%s got %d of %s, of which %d are out now", c.who, c.units, c.path, units)
	}
	r.claims[c] = struct{}{}
	c.since = time.Now()
	delete(r.handed, c.node)
	r.judgeNode(c)
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
		case r.excused[c.node] == unseen && !r.followed(n):
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

// ended tells whether c's owner has lost it, or what it holds beside it, be it
// that it knows or not.
func (r *referee) ended(c *claim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for own := c; own != nil; own = own.beside {
		for _, part := range append([]*claim{own}, own.more...) {
			if part.lost() || r.tree[part.node] == nil {
				return true
			}
		}
	}
	return false
}

// wasFirst tells whether everybody who was ahead of n when it went had given up
// before that, or has given up since.
func (r *referee) wasFirst(n *node) bool {
	for _, path := range n.behind {
		if !r.handed[path] {
			return false
		}
	}
	return true
}

// followed tells whether n's owner was handed the lock by another of its session.
func (r *referee) followed(n *node) bool {
	for _, path := range n.behind {
		other := r.tree[path]
		if other == nil {
			other = r.gone[path]
		}
		if r.handed[path] && other != nil && other.owner == n.owner {
			return true
		}
	}
	return false
}

// excuses tells whether c was taken from its owner in a way that its lock cannot
// see coming. r.mu is held.
func (r *referee) excuses(c *claim) bool {
	if _, exists := r.tree[c.node]; exists || c.node == "" {
		return false
	}
	return !proofOfLife || c.told == nil || r.excused[c.node] != none
}

// follow notes the loss of a claim.
func (r *referee) follow(c *claim) {
	select {
	case <-c.told:
		r.stats.Losses.Add(1)
		r.log.note(c.who, "learns that %s is lost", c.path)
	case <-c.over:
	}
}

// returned takes the moment at which a claim's owner begins to give it back.
func (r *referee) returned(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range append([]*claim{c}, c.more...) {
		if _, held := r.claims[c]; held {
			delete(r.claims, c)
			r.handed[c.node] = true
			close(c.over)
		}
	}
}

// closing takes the moment at which a session's Close is called, which gives
// everything back.
func (r *referee) closing(inc *incarnation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inc.closing.Store(true)
	for c := range r.claims {
		if c.inc == inc {
			r.handed[c.node] = true
		}
	}
}

// moved takes the moment at which c's owner begins to hold by another node, too.
func (r *referee) moved(c *claim, node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.note(c.who, "downgrades to %s", base(node))
	c.node, c.read = node, true
}

// nodeOf returns the first node of a session in a queue.
func (r *referee) nodeOf(session int64, path string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *node
	for _, n := range r.tree {
		if n.owner == session && n.queues && dirOf(n.path) == path && (first == nil || n.sequence < first.sequence) {
			first = n
		}
	}
	if first == nil {
		return "", false
	}
	return first.path, true
}

// observe takes a committed transaction. zktest waits for it.
func (r *referee) observe(txn zktest.Txn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, change := range txn.Changes {
		if n := r.tree[change.Path]; n != nil && change.Kind == zktest.NodeDeleted {
			n.gone, n.behind = txn.Time, r.tree.ahead(n)
			r.gone[n.path] = n
			r.judgeDelete(txn, change)
		}
	}
	for _, change := range txn.Changes {
		if change.Kind == zktest.SessionClosed && change.Cause == zktest.CauseExpiry {
			r.expired[change.Session] = true
		}
		if n := r.tree[change.Path]; n != nil {
			change.Owner = n.owner
		}
		r.moments.reach(change)
		r.tree.apply(txn, change)
		r.log.note("zookeeper", "%v", describe(txn, change))
	}
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
		case !c.since.Before(r.thawed) && time.Since(r.thawed) < r.tick:
			// A leader that was paused learns of its sessions' life half a tick
			// later, and may end one before that which has just been proved.
			r.excused[change.Path] = bySession
		case proofOfLife:
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

// excuse announces that a fault deletes a node.
func (r *referee) excuse(path string, why excuse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.excused[path] = why
}

// doom announces that a fault ends a session before its time.
func (r *referee) doom(session int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doomed[session] = true
}

// thaw announces that a server goes on that was paused.
func (r *referee) thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.thawed = time.Now()
}

// doomAll announces that a fault may end any of the sessions before its time.
func (r *referee) doomAll(sessions []zktest.Session) {
	for _, s := range sessions {
		r.doom(s.ID)
	}
}

// nodesOf returns the nodes of a session.
func (r *referee) nodesOf(session int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for path, n := range r.tree {
		if n.owner == session {
			paths = append(paths, path)
		}
	}
	return paths
}

// isExpired tells whether the server has ended the session.
func (r *referee) isExpired(session int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expired[session]
}

// nodes returns the ephemeral nodes that there are.
func (r *referee) nodes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for path := range r.tree {
		paths = append(paths, path)
	}
	return paths
}

func (r *referee) verdict() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// change is a committed change, to be put into words when it is printed.
type change struct {
	txn    zktest.Txn
	change zktest.Change
}

func describe(txn zktest.Txn, c zktest.Change) change { return change{txn, c} }

func (c change) String() string {
	switch c.change.Kind {
	case zktest.SessionCreated, zktest.SessionClosed:
		return fmt.Sprintf("%v %#x (%v)", c.change.Kind, c.change.Session, c.change.Cause)
	}
	return fmt.Sprintf("%v %s by session %#x (%v), zxid %#x", c.change.Kind, c.change.Path, c.txn.Session, c.change.Cause, c.txn.Zxid)
}
