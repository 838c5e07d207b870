package queue

import "github.com/zklock/zklock/internal/recipe"

// indexKey is a place in the queue of a path.
type indexKey struct {
	dir      string
	sequence int32
}

// index are the contenders of a session that may be followed, and how many each queue has of
// them and of those whose node is not known yet.
type index struct {
	at    map[indexKey]*contender
	lines map[string]int // how many stand in each queue

	sights    map[string]sight // what they have seen of it
	listsOnly bool             // a server does not know how several nodes are read at once
}

// countIn counts c from before its create is sent, so that of many newcomers one asks for a
// list. The session's mu is held.
func (c *contender) countIn() {
	if c.queue.kind == recipe.Exclusive && c.queues {
		c.counted = true
		c.queue.session.index.lines[c.queue.dir]++
	}
}

// countOut undoes countIn, once. The session's mu is held.
func (c *contender) countOut() {
	if !c.counted {
		return
	}
	c.counted = false
	lines, dir := c.queue.session.index.lines, c.queue.dir
	if lines[dir]--; lines[dir] == 0 {
		delete(lines, dir)
		delete(c.queue.session.index.sights, dir)
	}
}

// addToIndex adds c, whose node is known now, to those that may be followed. The session's mu
// is held.
func (c *contender) addToIndex() {
	if c.queue.kind != recipe.Exclusive || c.state >= ended || !c.queues {
		return
	}
	c.queue.session.index.at[indexKey{c.queue.dir, c.sequence}] = c
}

// removeFromIndex takes c out of the line. Who followed it and was not handed the lock looks at
// the queue again. The session's mu is held.
func (c *contender) removeFromIndex() {
	c.countOut()
	if c.holder() == c {
		c.succession.holder = nil
	}
	at, here := c.queue.session.index.at, indexKey{c.queue.dir, c.sequence}
	if at[here] == c {
		delete(at, here)
	}
	if next := c.successor; next != nil {
		c.successor = nil
		next.wake()
	}
}

// othersInLine returns how many other contenders of this session stand in c's queue. The session's
// mu is held.
func (c *contender) othersInLine() int {
	if !c.counted {
		return 0
	}
	return c.queue.session.index.lines[c.queue.dir] - 1
}
