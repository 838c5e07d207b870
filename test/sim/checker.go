package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/zktest"
)

// orderEnd is the sequence from which order means nothing.
const orderEnd = 1<<31 - 1<<16

// checker watches every call's result and every committed transaction, and
// judges them as they come.
type checker struct {
	log    *timeline
	stats  *Stats
	broken chan struct{} // closed by the first broken promise

	mu      sync.Mutex
	failure *Failure
	moments moments
	calm    bool            // no fault has struck yet
	struck  map[string]bool // machines that a fault has struck
	misled  map[string]bool // machines that a fault has given another time, or another session
	tree    nodes
	claims  map[*claim]struct{}  // that nobody has given back
	resting map[*claim]struct{}  // that were given back, whose nodes have to stay yet
	grace   time.Duration        // of all losses together
	begun   map[string]time.Time // since when the newest hold by a node counts for its minimum
	lost    map[string]loss      // of the holds by the nodes of a contender
	last    map[string]*claim    // by path, the one that was given back last
	excused map[string]excuse    // nodes that a fault takes from their owner
	expired map[int64]bool       // sessions that the server has ended
	doomed  map[int64]bool       // sessions that a fault ends before their time
	handed  map[string]bool      // nodes whose owner has given them back
	between map[string]bool      // likewise, together with others: one after the other, in the library
	gone    map[string]*node     // contenders that are no more
	passed  map[string]string    // nodes that another of their session went past, which may not be granted any more
	tokens  map[string]*highest  // of each path
	spells  []*spell             // in which servers refuse
	lists   map[string]*list     // of nodes, that operators change
	kept    map[string]bool      // nodes that a follower keeps for good
}

// excuse is why the owner of a node could not know that it is gone.
type excuse int

const (
	none       excuse = iota
	byOperator        // who deleted the node
	unseen            // by the operator, before the owner made its next connection
	bySession         // which was ended before its time
)

// everywhere stands for all machines.
const everywhere = ""

// highest are the highest fencing tokens that were given out.
type highest struct{ writer, any int64 }

func newChecker(log *timeline, stats *Stats) *checker {
	return &checker{
		log: log, stats: stats, broken: make(chan struct{}),
		moments: make(moments),
		struck:  make(map[string]bool),
		misled:  make(map[string]bool),
		tree:    make(nodes),
		claims:  make(map[*claim]struct{}),
		resting: make(map[*claim]struct{}),
		begun:   make(map[string]time.Time),
		lost:    make(map[string]loss),
		last:    make(map[string]*claim),
		excused: make(map[string]excuse),
		expired: make(map[int64]bool),
		doomed:  make(map[int64]bool),
		handed:  make(map[string]bool),
		between: make(map[string]bool),
		gone:    make(map[string]*node),
		passed:  make(map[string]string),
		tokens:  make(map[string]*highest),
		lists:   make(map[string]*list),
		kept:    make(map[string]bool),
	}
}

// fail reports a broken promise. The first one counts.
func (ck *checker) fail(promise, format string, args ...any) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.failLocked(promise, format, args...)
}

func (ck *checker) failLocked(promise, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	ck.log.note("CHECKER", "%s: %s", promise, text)
	if ck.failure == nil {
		ck.failure = &Failure{Promise: promise, Text: text}
		close(ck.broken)
	}
}

// follow notes the loss of a claim.
func (ck *checker) follow(c *claim) {
	c.asksUntil()
	select {
	case <-c.told:
		ck.judgeUntil(c)
		ck.stats.Losses.Add(1)
		ck.log.note(c.who, "learns that %s is lost", c.path)
		if ck.isCalm() && !c.inc.closing.Load() {
			ck.fail("liveness", "%s lost %s by %s before any fault", c.who, c.path, base(c.node))
		}
	case <-c.over:
	}
}

// observe takes a committed transaction. zktest waits for it.
func (ck *checker) observe(txn zktest.Txn) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for _, change := range txn.Changes {
		if n := ck.tree[change.Path]; n != nil && change.Kind == zktest.NodeDeleted {
			n.gone, n.behind = txn.Time, ck.tree.ahead(n)
			ck.gone[n.path] = n
			ck.judgeDelete(txn, change)
		}
	}
	ck.judgeParents(txn)
	for _, change := range txn.Changes {
		if change.Kind == zktest.SessionClosed && change.Cause == zktest.CauseExpiry {
			ck.expired[change.Session] = true
		}
		if n := ck.tree[change.Path]; n != nil {
			change.Owner = n.owner
		}
		ck.moments.reach(change)
		ck.tree.apply(txn, change)
		if n := ck.tree[change.Path]; n != nil && change.Kind == zktest.DataSet && n.marked {
			ck.asks(n)
		}
		ck.log.note("zookeeper", "%v", committed{txn, change})
	}
}

func (ck *checker) verdict() *Failure {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.failure
}

// excuse announces that a fault deletes a node.
func (ck *checker) excuse(path string, why excuse) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.excused[path] = why
}

// doom announces that a fault ends a session before its time.
func (ck *checker) doom(session int64) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.doomed[session] = true
}

// doomAll announces that a fault may end any of the sessions before its time.
func (ck *checker) doomAll(sessions []zktest.Session) {
	for _, s := range sessions {
		ck.doom(s.ID)
	}
}

// ended reports whether c's owner has lost it, or what it holds beside it, be it
// that it knows or not.
func (ck *checker) ended(c *claim) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for own := c; own != nil; own = own.beside {
		for _, part := range own.parts() {
			if part.isLost() || ck.tree[part.node] == nil {
				return true
			}
		}
	}
	return false
}

// returned takes the moment at which a claim's owner begins to give it back.
func (ck *checker) returned(c *claim) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	together := len(c.parts()) > 1
	for _, c := range c.parts() {
		if _, held := ck.claims[c]; held {
			if c.released() {
				ck.failLocked("P2", "%s's hold of %s by %s ended as released, and nobody had given it back", c.who, c.path, base(c.node))
			}
			delete(ck.claims, c)
			ck.last[c.path] = c
			if n := ck.nodeLocked(c.node); !c.any || n == nil || !ck.claimed(n) { // the trace tells which of several
				ck.handed[c.node], ck.between[c.node] = true, together
				if n != nil {
					n.idle = time.Now()
				}
			}
			close(c.over)
			ck.endGrace(c.node)
			if ck.rests(c) > 0 {
				ck.resting[c] = struct{}{}
			}
		}
	}
}

// released takes that a hold has been given back.
func (ck *checker) released(node string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.handed[node] = true
}

// returnedTogether takes the moment at which the owner of several nodes begins to give them back.
func (ck *checker) returnedTogether(nodes []string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for _, node := range nodes {
		ck.handed[node], ck.between[node] = true, true
	}
}

// forget takes that the servers lose their data while all are away, for so long that no lease
// runs: all nodes have gone, and tokens begin anew.
func (ck *checker) forget() {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for c := range ck.claims {
		if ck.tree[c.node] != nil && c.told != nil && c.believed() {
			ck.failLocked("P2", "%s believes to hold %s by %s, and no server was there for longer than its session lasts", c.who, c.path, base(c.node))
		}
	}
	for path, n := range ck.tree {
		n.gone, n.behind = time.Now(), ck.tree.ahead(n)
		ck.gone[path], ck.expired[n.owner] = n, true
	}
	clear(ck.tree)
	clear(ck.tokens)
}

// closing takes the moment at which a session's Close or Shutdown is called: then, or soon, everything
// is given back.
func (ck *checker) closing(inc *incarnation) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	inc.closing.Store(true)
	for c := range ck.claims {
		if c.inc == inc {
			ck.handed[c.node] = true
		}
	}
}

// begins takes the moment at which a hold by that node begins.
func (ck *checker) begins(node string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.begun[node] = time.Now()
	if n := ck.nodeLocked(node); n != nil {
		n.idle = time.Time{}
	}
}

// loss is when a hold was lost, and for how long its node stays if the session lives.
type loss struct {
	at    time.Time
	grace time.Duration
}

// left returns how much of the grace is left.
func (l loss) left() time.Duration { return l.grace - time.Since(l.at) }

// ends takes the moment at which the hold by that node is lost. Whoever is giving it back by then
// needs no grace.
func (ck *checker) ends(node string, grace time.Duration) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	if ck.handed[node] {
		grace = 0
	}
	ck.lost[contenderOf(node)] = loss{time.Now(), grace}
	ck.grace += grace
}

// endGrace takes that the owner of a hold by that node gives it back. ck.mu is held.
func (ck *checker) endGrace(node string) {
	if l, lost := ck.lost[contenderOf(node)]; lost {
		ck.grace -= max(0, l.left())
		ck.lost[contenderOf(node)] = loss{at: l.at}
	}
}

// graces returns how long nodes have stayed, or are to stay, after losses, one after the other.
func (ck *checker) graces() time.Duration {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.grace
}

// graceLeft returns for how long any node may yet stay after a loss.
func (ck *checker) graceLeft() (longest time.Duration) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for path := range ck.tree {
		longest = max(longest, ck.lost[contenderOf(path)].left())
	}
	return longest
}

// rests returns for how long c's node, if it is there, has to stay yet, whatever has become of
// c: for its minimum, or for its grace after a loss, unless another reader without an owner may
// have given it back. Permits are granted by their create: their call gives the turn back before it
// returns. ck.mu is held.
func (ck *checker) rests(c *claim) (left time.Duration) {
	n, began := ck.tree[c.node], ck.begun[c.node]
	if n == nil {
		return 0
	}
	if c.units > 0 {
		began = n.since
	}
	if !c.any {
		left = ck.lost[contenderOf(c.node)].left()
	}
	return max(0, c.least-time.Since(began), left)
}

// alone takes the moment at which c's owner has given back the write lock beside it.
func (ck *checker) alone(c *claim) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	c.beside = nil
}

// moved takes the moment at which c's owner begins to hold by another node, too.
func (ck *checker) moved(c *claim, node string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.log.note(c.who, "downgrades to %s", base(node))
	c.node, c.read = node, true
}

// storm takes the moment at which a fault strikes.
func (ck *checker) storm(f Fault) {
	ck.askUntil()
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.calm = false
	if slices.Contains(ofMachine, f.Kind) {
		ck.struck[nameOf(f.Machine)] = true
	} else {
		ck.struck[everywhere] = true
	}
}

// isCalm reports whether no fault has struck yet.
func (ck *checker) isCalm() bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.calm
}

// keeps reports whether c's node is there although c was given back by a call that began when
// its minimum was over, and its session is still the one that c's machine has.
func (ck *checker) keeps(c *claim, began time.Time) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	n := ck.tree[c.node]
	_, held := ck.claims[c]
	return !held && n != nil && c.inc.owns(n.owner) && began.Sub(ck.begun[c.node]) >= c.least
}

// holds reports whether somebody holds a lock by a node of that session.
func (ck *checker) holds(session int64) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	for c := range ck.claims {
		if n := ck.tree[c.node]; n != nil && n.owner == session && c.believed() {
			return true
		}
	}
	return false
}

// used reports whether somebody has come to hold by a node.
func (ck *checker) used(node string) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	n := ck.nodeLocked(node)
	return n != nil && n.of != nil
}

// isExpired reports whether the server has ended the session.
func (ck *checker) isExpired(session int64) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.expired[session]
}
