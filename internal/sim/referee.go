package sim

import (
	"fmt"
	"sync"

	"github.com/zklock/zklock/zktest"
)

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
	moments moments
	calm    bool // no fault has struck yet
	tree    nodes
	claims  map[*claim]struct{} // that nobody has given back
	last    map[string]*claim   // by path, the one that was given back last
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
		moments: make(moments),
		tree:    make(nodes),
		claims:  make(map[*claim]struct{}),
		last:    make(map[string]*claim),
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

// follow notes the loss of a claim.
func (r *referee) follow(c *claim) {
	select {
	case <-c.told:
		r.stats.Losses.Add(1)
		r.log.note(c.who, "learns that %s is lost", c.path)
		if r.isCalm() {
			r.fail("liveness", "%s lost %s by %s before any fault", c.who, c.path, base(c.node))
		}
	case <-c.over:
	}
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
		r.log.note("zookeeper", "%v", committed{txn, change})
	}
}

func (r *referee) verdict() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
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

// doomAll announces that a fault may end any of the sessions before its time.
func (r *referee) doomAll(sessions []zktest.Session) {
	for _, s := range sessions {
		r.doom(s.ID)
	}
}

// ended tells whether c's owner has lost it, or what it holds beside it, be it
// that it knows or not.
func (r *referee) ended(c *claim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for own := c; own != nil; own = own.beside {
		for _, part := range own.parts() {
			if part.isLost() || r.tree[part.node] == nil {
				return true
			}
		}
	}
	return false
}

// returned takes the moment at which a claim's owner begins to give it back.
func (r *referee) returned(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range c.parts() {
		if _, held := r.claims[c]; held {
			delete(r.claims, c)
			r.last[c.path] = c
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

// storm takes the moment at which a fault strikes.
func (r *referee) storm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calm = false
}

// isCalm tells whether no fault has struck yet.
func (r *referee) isCalm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calm
}

// keeps tells whether c's node is there although c was given back, and its session
// is still the one that c's machine has.
func (r *referee) keeps(c *claim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.tree[c.node]
	_, held := r.claims[c]
	return !held && n != nil && n.owner == c.inc.session.ID()
}

// holds tells whether somebody holds a lock by a node of that session.
func (r *referee) holds(session int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.claims {
		if n := r.tree[c.node]; n != nil && n.owner == session && c.believed() {
			return true
		}
	}
	return false
}

// isExpired tells whether the server has ended the session.
func (r *referee) isExpired(session int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expired[session]
}
