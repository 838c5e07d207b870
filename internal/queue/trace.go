package queue

import "github.com/zklock/zklock/internal/client"

// Call is told of one call for a lock.
type Call interface {
	// Enqueued is told of a place in the queue.
	Enqueued(node string, token int64, at Enqueued)
	// Acquired is told that h has begun, and from then on its history.
	Acquired(h *Hold)
}

// History is told of a hold. What the first four note is told by Tell, one at a time: they are
// called under the mutex that grants, and report whether the caller has to see to it that Tell
// is called.
type History interface {
	Released() bool
	Lost(cause error) bool
	Suspended() bool
	Resumed() bool
	Tell()
}

// enqueued tells that c stands in the queue, which view showed if it is not nil.
func enqueued(call Call, c *contender, view *listing) {
	if call == nil {
		return
	}
	call.Enqueued(c.node, c.token, Enqueued{c, view})
}

// Enqueued is a place in the queue, as it was entered.
type Enqueued struct {
	contender *contender
	view      *listing
}

// Ahead counts the others, who may be many; -1 if no list came with the place's node.
func (e Enqueued) Ahead() int {
	if e.view != nil {
		nodes := e.contender.queue.withoutBystanders(e.view.Nodes(), nil)
		if at, err := e.view.placeAmong(nodes, e.contender); err == nil {
			return at.InTheWay(nodes)
		}
	}
	return -1
}

// acquired tells that h has begun. Nothing is told of the turn of a semaphore, since it is not
// what the caller asked for. If the call does not return, the caller never has h, which is given
// back.
func acquired(call Call, h *Hold) {
	told := false
	defer func() {
		if !told {
			h.ReleaseUnused(nil)
		}
	}()
	if c := h.contender; !c.queue.isTurns() {
		if log := c.queue.session.client.Log; log.Debugs() {
			log.Debug("zklock: lock acquired", "path", c.queue.path, "node", c.node, "session", client.Hex(c.incarnation.id))
		}
		if call != nil && h.history != nil {
			call.Acquired(h)
		}
	}
	told = true
}
