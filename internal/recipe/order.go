package recipe

import (
	"cmp"
	"errors"
	"slices"
)

var (
	// ErrMissing says that the list does not show the contender's own node.
	ErrMissing = errors.New("the lock node is not in the list")

	// ErrUnordered says that the sequence counter is at its end, where the numbers no longer
	// tell who came first.
	ErrUnordered = errors.New("the sequence counter is at its end")

	// ErrTwice says that somebody has made a node with the number of ours.
	ErrTwice = errors.New("another lock node has the same number")
)

// Position is where a contender stands in its queue.
type Position struct {
	Ahead   int  // how many are ahead that block it
	Nearest Node // the last of those
	Before  Node // the last but one
	Foreign bool // some of them are
}

// Nodes returns the lock nodes among names, the children of a lock's path, as they are listed.
func Nodes(names []string) []Node {
	nodes := make([]Node, 0, len(names))
	for _, name := range names {
		if n, ok := Parse(name); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Locate returns where self stands among the listed nodes. Only those ahead that block it count. A
// foreign one with self's number does not count: that number was not given to it by the server.
func Locate(nodes []Node, self Node) (Position, error) {
	if self.Unordered() {
		return Position{}, ErrUnordered
	}
	return locate(nodes, self)
}

func locate(nodes []Node, self Node) (at Position, err error) {
	listed := false
	for _, other := range nodes {
		switch {
		case other.Name == self.Name:
			listed = true
		case !other.Kind.Blocks(self.Kind), other.Foreign && other.Sequence == self.Sequence:
		case other.Sequence == self.Sequence:
			return at, ErrTwice
		case other.Sequence < self.Sequence:
			at.add(other)
		}
	}
	if !listed {
		return at, ErrMissing
	}
	return at, nil
}

func (at *Position) add(other Node) {
	switch {
	case at.Ahead == 0 || other.Sequence > at.Nearest.Sequence:
		at.Before, at.Nearest = at.Nearest, other
	case at.Ahead == 1 || other.Sequence > at.Before.Sequence:
		at.Before = other
	}
	at.Ahead++
	at.Foreign = at.Foreign || other.Foreign
}

// InTheWay returns how many of the listed nodes have to go before the contender may have the lock.
// A contender waits for all that are ahead of the nearest that blocks it: a reader for its writer,
// and so for the readers for whom that writer waits.
func (at Position) InTheWay(nodes []Node) (n int) {
	if at.Ahead == 0 {
		return 0
	}
	for _, other := range nodes {
		if other.Sequence < at.Nearest.Sequence {
			n++
		}
	}
	return max(n+1, at.Ahead) // who downgrades has two nodes of one number
}

// BlocksNewcomer reports whether n is surely in the way of a newcomer of kind k. Whether a foreign one
// is, only the newcomer's number tells, and a look at it.
func (n Node) BlocksNewcomer(k Kind) bool { return !n.Foreign && n.Kind.Blocks(k) }

// AnyBlocks reports whether one of names is surely in the way of a newcomer of kind k.
func AnyBlocks(names []string, k Kind) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		n, ok := Parse(name)
		return ok && n.BlocksNewcomer(k)
	})
}

// Waiting is a lock node, and whether it has the lock.
type Waiting struct {
	Node
	Holds bool
}

// Queue returns the lock nodes among names in the order of their sequences. Of a writer that
// downgrades there are two with the same.
func Queue(names []string) []Waiting {
	nodes := Nodes(names)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Sequence, b.Sequence) })
	var ahead front
	queue := make([]Waiting, len(nodes))
	for i, n := range nodes {
		queue[i] = Waiting{Node: n, Holds: !n.Unordered() && !ahead.blocks(n)}
		ahead.add(n)
	}
	return queue
}

// front is what matters of those ahead: the first of each kind. If that one does not block, no
// later one of its kind does. So it does not matter how long the queue is.
type front []Node

func (f front) blocks(n Node) bool {
	return slices.ContainsFunc(f, func(ahead Node) bool { return ahead.Sequence < n.Sequence && ahead.Kind.Blocks(n.Kind) })
}

// add adds n, which is not ahead of those that were added before.
func (f *front) add(n Node) {
	if !slices.ContainsFunc(*f, func(ahead Node) bool { return ahead.Kind == n.Kind }) {
		*f = append(*f, n)
	}
}
