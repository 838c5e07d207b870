package sim

import (
	"strconv"
	"strings"
	"time"

	"github.com/zklock/zklock/zktest"
)

// nodes is the tree as the committed transactions have made it, of ephemeral
// nodes only. The referee's mutex guards it.
type nodes map[string]*node

type node struct {
	path    string
	owner   int64 // session
	created int64 // zxid

	queues   bool // it is a contender
	reads    bool // for reading only
	sequence int64

	gone   time.Time // when it was deleted
	behind []string  // whom it was behind then
}

// apply takes a transaction's change.
func (ns nodes) apply(txn zktest.Txn, c zktest.Change) {
	switch {
	case c.Kind == zktest.NodeDeleted:
		delete(ns, c.Path)
	case c.Kind == zktest.NodeCreated && c.Owner != 0:
		n := &node{path: c.Path, owner: c.Owner, created: txn.Zxid}
		n.sequence, n.queues = contender(c.Path)
		n.reads = strings.Contains(base(c.Path), "-__READ__")
		ns[c.Path] = n
	}
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

// contender reads the sequence from a lock node's path. It does not use the
// library's own parser, which it judges.
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
	return 0, false
}

func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
