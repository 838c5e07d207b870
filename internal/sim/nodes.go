package sim

import (
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zklock/zklock/zktest"
)

// nodes is the tree as the committed transactions have made it, of contenders
// only. The referee's mutex guards it.
type nodes map[string]node

type node struct {
	path     string
	sequence int64
	owner    int64 // session
	created  int64 // zxid
}

// apply takes a transaction's change.
func (ns nodes) apply(txn zktest.Txn, c zktest.Change) {
	switch c.Kind {
	case zktest.NodeCreated:
		if sequence, ok := contender(c.Path); ok {
			ns[c.Path] = node{c.Path, sequence, c.Owner, txn.Zxid}
		}
	case zktest.NodeDeleted:
		delete(ns, c.Path)
	}
}

// ahead returns a contender of n's lock with a lower sequence that skip does not
// excuse, if there is one.
func (ns nodes) ahead(n node, skip func(node) bool) (node, bool) {
	for _, other := range ns {
		if dirOf(other.path) == dirOf(n.path) && other.sequence < n.sequence && !skip(other) {
			return other, true
		}
	}
	return node{}, false
}

// contender reads the sequence from a lock node's path. It does not use the
// library's own parser, which it judges.
func contender(path string) (sequence int64, ok bool) {
	const digits = 10
	if len(path) < digits {
		return 0, false
	}
	stem := path[:len(path)-digits]
	n, err := strconv.ParseUint(path[len(path)-digits:], 10, 32)
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

// Stats counts what simulations did.
type Stats struct {
	Seeds, Grants, Losses atomic.Int64
	Calls                 [TryAcquire + 1]atomic.Int64
	Faults                [faultKinds]atomic.Int64
}
