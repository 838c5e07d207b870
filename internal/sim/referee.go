package sim

import (
	"fmt"
	"sync"

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
	log    *timeline
	stats  *Stats
	broken chan struct{} // closed by the first broken promise

	mu      sync.Mutex
	failure *Failure
	tree    nodes
	claims  map[*claim]struct{} // that nobody has given back
	excused map[string]bool     // nodes that a fault takes from their owner
	doomed  map[int64]bool      // sessions that a fault ends before their time
	handed  map[string]bool     // nodes whose owner has given them back
	tokens  map[string]int64    // highest of each path
}

func newReferee(log *timeline, stats *Stats) *referee {
	return &referee{
		log: log, stats: stats, broken: make(chan struct{}),
		tree:    make(nodes),
		claims:  make(map[*claim]struct{}),
		excused: make(map[string]bool),
		doomed:  make(map[int64]bool),
		handed:  make(map[string]bool),
		tokens:  make(map[string]int64),
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
	r.stats.Grants.Add(1)
	r.log.note(c.who, "holds %s by %s", c.path, base(c.node))
	for other := range r.claims {
		if other.path == c.path && other.believed() && !r.excuses(other) {
			r.failLocked("P1", "%s got %s while %s holds it by %s", c.who, c.path, other.who, base(other.node))
		}
		if other.locker != nil && other.locker == c.locker {
			r.failLocked("P1", "%s got %s through a Locker that %s has not unlocked", c.who, c.path, other.who)
		}
	}
	r.claims[c] = struct{}{}
	r.judgeNode(c)
	if c.hold != nil {
		go r.follow(c)
	}
}

// judgeNode checks that a grant rests on the first node in the queue.
func (r *referee) judgeNode(c *claim) {
	n, exists := r.tree[c.node]
	switch {
	case exists:
	case !c.believed() || r.excuses(c):
		return
	default:
		r.failLocked("P7", "%s got %s, but its node %s does not exist", c.who, c.path, base(c.node))
		return
	}
	if other, found := r.tree.ahead(n, func(o node) bool { return r.handed[o.path] }); found {
		r.failLocked("P3", "%s got %s by %s while %s is ahead", c.who, c.path, base(n.path), base(other.path))
	}
	if c.hold == nil {
		return
	}
	if n.sequence < 0 || n.sequence >= orderEnd {
		r.failLocked("P1", "%s got %s by %s, whose number means nothing", c.who, c.path, base(n.path))
	}
	if c.token != n.created || n.created < r.tokens[c.path] {
		r.failLocked("token", "%s has the token %#x for a node created by %#x; the last token was %#x",
			c.who, c.token, n.created, r.tokens[c.path])
	}
	r.tokens[c.path] = n.created
}

// excuses tells whether c was taken from its owner in a way that its lock cannot
// see coming. r.mu is held.
func (r *referee) excuses(c *claim) bool {
	if _, exists := r.tree[c.node]; exists {
		return false
	}
	return !proofOfLife || c.hold == nil || r.excused[c.node]
}

// follow notes the loss of a claim.
func (r *referee) follow(c *claim) {
	select {
	case <-c.hold.Lost():
		r.stats.Losses.Add(1)
		r.log.note(c.who, "learns that %s is lost", c.path)
	case <-c.over:
	}
}

// returned takes the moment at which a claim's owner begins to give it back.
func (r *referee) returned(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, held := r.claims[c]; held {
		delete(r.claims, c)
		r.handed[c.node] = true
		close(c.over)
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
	c.node = node
}

// nodeOf returns the first node of a session in a queue.
func (r *referee) nodeOf(session int64, path string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, found := node{}, false
	for _, n := range r.tree {
		if n.owner == session && dirOf(n.path) == path && (!found || n.sequence < first.sequence) {
			first, found = n, true
		}
	}
	return first.path, found
}

// observe takes a committed transaction. zktest waits for it.
func (r *referee) observe(txn zktest.Txn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, change := range txn.Changes {
		if change.Kind == zktest.NodeDeleted {
			r.judgeDelete(txn, change)
		}
		r.tree.apply(txn, change)
		r.log.note("zookeeper", "%v", describe(txn, change))
	}
}

// judgeDelete checks what becomes of a node that somebody holds a lock by.
func (r *referee) judgeDelete(txn zktest.Txn, change zktest.Change) {
	taken := r.excused[change.Path] || r.doomed[txn.Session] && change.Cause == zktest.CauseExpiry
	if taken {
		r.excused[change.Path] = true
		return
	}
	for c := range r.claims {
		switch {
		case c.node != change.Path || c.hold == nil || !c.believed():
		case change.Cause != zktest.CauseExpiry:
			r.failLocked("P1", "session %#x deleted %s while %s holds %s by it", txn.Session, base(change.Path), c.who, c.path)
		case proofOfLife:
			r.failLocked("P2", "the session of %s ended while it believes to hold %s by %s", c.who, c.path, base(change.Path))
		}
	}
}

// excuse announces that a fault deletes a node.
func (r *referee) excuse(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.excused[path] = true
}

// doom announces that a fault ends a session before its time.
func (r *referee) doom(session int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doomed[session] = true
}

// doomAll announces that a fault may end any of the sessions before its time.
func (r *referee) doomAll(sessions []zktest.Session) {
	for _, s := range sessions {
		r.doom(s.ID)
	}
}

// contenders returns the lock nodes that there are.
func (r *referee) contenders() []string {
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
