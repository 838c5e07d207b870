package sim

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zklock/zklock/zktest"
)

// nodes is the tree as the committed transactions have made it, of ephemeral
// nodes only. The checker's mutex guards it.
type nodes map[string]*node

type node struct {
	path    string
	owner   int64 // session
	created int64 // zxid
	since   time.Time

	queues   bool // it is a contender
	foreign  bool // of a form that the library does not know
	reads    bool // for reading only
	sequence int64

	of     *lock     // by which somebody has come to hold by it, nil if nobody has
	idle   time.Time // since when whoever held by it has given it back; zero while somebody holds, or is to
	before []*node   // what its owner had before: a reader's writer, the turn of permits or those that it may be
	asked  time.Time // when somebody has asked for its lock last
	first  bool      // nobody was ahead then
	marked bool      // it says so still

	gone   time.Time // when it was deleted
	behind []string  // whom it was behind then
}

// apply takes a transaction's change.
func (ns nodes) apply(txn zktest.Txn, c zktest.Change) {
	switch {
	case c.Kind == zktest.NodeDeleted:
		delete(ns, c.Path)
	case c.Kind == zktest.NodeCreated && c.Owner != 0:
		n := &node{path: c.Path, owner: c.Owner, created: txn.Zxid, since: time.Now()}
		n.sequence, n.queues = contender(c.Path)
		n.foreign = n.queues && isForeign(c.Path)
		n.reads = strings.Contains(base(c.Path), "-__READ__")
		n.before = ns.before(n)
		ns[c.Path] = n
	case c.Kind == zktest.DataSet && ns[c.Path] != nil:
		ns[c.Path].marked = isMark(c.Data)
	}
}

// before returns what the owner of n, which is new, had before it.
func (ns nodes) before(n *node) (before []*node) {
	for _, other := range ns {
		downgrades := n.reads && !other.reads && other.sequence == n.sequence && dirOf(other.path) == dirOf(n.path)
		takes := dirOf(n.path) == dirOf(dirOf(other.path))+"/leases" && strings.HasSuffix(dirOf(other.path), "/locks")
		if other.queues && other.owner == n.owner && (downgrades || takes) {
			before = append(before, other)
		}
	}
	return before
}

// ahead returns the contenders that keep n waiting.
func (ns nodes) ahead(n *node) []string {
	var ahead []string
	for path, other := range ns {
		if n.queues && other.queues && dirOf(path) == dirOf(n.path) &&
			0 <= other.sequence && other.sequence < n.sequence && // a negative number means nothing
			!(n.reads && other.reads) {
			ahead = append(ahead, path)
		}
	}
	return ahead
}

const sequenceDigits = 10

// contender reads the sequence from the path of an ephemeral node, which is a lock's whatever it
// is called. It does not use the library's own parser, which it judges.
func contender(path string) (sequence int64, ok bool) {
	if len(path) < sequenceDigits {
		return 0, false
	}
	stem := contenderOf(path)
	n, err := strconv.ParseUint(path[len(path)-sequenceDigits:], 10, 32)
	if err != nil {
		return 0, false
	}
	for _, marker := range []string{"-lock-", "-__WRIT__", "-__READ__"} {
		switch {
		case strings.HasSuffix(stem, marker):
			return int64(n), true
		case strings.HasSuffix(stem, marker+"-"):
			return -int64(n), true
		}
	}
	return int64(n), n <= math.MaxInt32 && !strings.Contains(base(path), "-lease-")
}

// isForeign reports whether a contender's name tells nothing of a lock.
func isForeign(path string) bool {
	name := base(path)
	return !slices.ContainsFunc([]string{"-lock-", "-__WRIT__", "-__READ__"}, func(marker string) bool { return strings.Contains("-"+name, marker) })
}

func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// contenderOf returns the path of a node without its sequence.
func contenderOf(path string) string { return path[:max(0, len(path)-sequenceDigits)] }

// base returns the last name in a node's path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// nodeOf returns the first node of a session in a queue.
func (ck *checker) nodeOf(session int64, path string) (string, bool) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	var first *node
	for _, n := range ck.tree {
		if n.owner == session && n.queues && dirOf(n.path) == path && (first == nil || n.sequence < first.sequence) {
			first = n
		}
	}
	if first == nil {
		return "", false
	}
	return first.path, true
}

// nodesOf returns the nodes of a session.
func (ck *checker) nodesOf(session int64) []string {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	var paths []string
	for path, n := range ck.tree {
		if n.owner == session {
			paths = append(paths, path)
		}
	}
	return paths
}

// contended reports whether anybody had a node of l since then, but for one that l keeps for
// an owner to come, or had left by then.
func (ck *checker) contended(l *lock, since time.Time) bool {
	return ck.any(func(n *node) bool {
		own := n.of != nil && slices.Contains(l.all(), n.of) && n.of.spec.MinHold == 0 && ck.handed[n.path] && !ck.between[n.path] && !n.idle.After(since)
		return l.covers(n.path) && !own && (n.gone.IsZero() || !n.gone.Before(since))
	})
}

// node returns a node that there is, or was; nil if there never was.
func (ck *checker) node(path string) *node {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.nodeLocked(path)
}

func (ck *checker) nodeLocked(path string) *node {
	if n := ck.tree[path]; n != nil {
		return n
	}
	return ck.gone[path]
}

// existed reports whether a node was there at any time since then.
func (ck *checker) existed(path string, since time.Time) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	n := ck.gone[path]
	return ck.tree[path] != nil || n != nil && !n.gone.Before(since)
}

// nodes returns the ephemeral nodes that there are.
func (ck *checker) nodes() []string {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	var paths []string
	for path := range ck.tree {
		paths = append(paths, path)
	}
	return paths
}
