package queue

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
)

// contention says whether others stand in the queue.
type contention int

const (
	unknown contention = iota // the watch on the queue is not set yet, or anew
	alone
	others
)

// seesNobody reports whether nobody has been seen to wait behind c: in this session, which the
// watch would tell of later, and elsewhere, by c's last list until the queue is watched. s.mu
// is held.
func (t *handoff) seesNobody(c *contender) bool {
	return c.othersInLine() == 0 && (t.contention == alone || t.contention == unknown && c.alone)
}

// startWatching has the queue watched while the handoff has its node. s.mu is held.
func (t *handoff) startWatching() {
	if c := t.node; !t.watching {
		t.watching = c.queue.session.client.Spawn(func() { t.watchQueue(c) })
	}
}

// watchQueue finds out whether others queue behind c, until one does or the handoff has another
// node. A node that is merely kept is given up then.
func (t *handoff) watchQueue(c *contender) {
	s := c.queue.session
	for {
		if _, err := s.client.Await(s.client.Context(), c.incarnation.id); err != nil {
			return
		}
		w := s.client.Watch(client.WatchKey{Path: c.queue.dir, Children: true})
		<-w.Armed
		_, _ = c.queue.look(s.client.Context(), foreign(recipe.Nodes(w.Names))) // contentionOf knows bystanders by their watches
		if !t.seen(c, w) {
			return
		}
		select {
		case <-w.Fired:
		case <-s.client.Context().Done():
		}
		if !t.watchEnded(c, w) {
			return
		}
	}
}

// watchEnded takes the end of a watch on c's queue, and reports whether there is more to look for.
// After a change somebody has probably come; the next watch tells a round trip later. The end of
// the connection tells nothing of the queue.
func (t *handoff) watchEnded(c *contender, w *client.Watch) bool {
	t.queue.session.mu.Lock()
	defer t.queue.session.mu.Unlock()
	if t.node != c {
		return false
	}
	if w.IsArmed() && !latch.IsClosed(w.Link.Down()) {
		t.contention, c.alone = unknown, false
	}
	return true
}

// seen takes what a watch on c's queue has found, and reports whether there is more to look
// for.
func (t *handoff) seen(c *contender, w *client.Watch) bool {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(w.Err, zk.ErrNoNode) {
		c.lose(errNodeDeleted) // with the whole path
	}
	if t.node != c {
		return false
	}
	t.contention = c.queue.contentionOf(w, recipe.Base(c.node))
	if t.contention == others && !t.idle.IsZero() {
		c.leaveLocked()
	}
	// In contention there is no more to learn: a list for every newcomer would be a herd of
	// one.
	return t.contention != others
}

// contentionOf returns which contention the contender of that name has among the children that
// the watch has seen.
func (q *Queue) contentionOf(w *client.Watch, node string) contention {
	switch {
	case client.Refused(w.Err):
		return others // for all that is known from now on
	case w.Err != nil:
		return unknown
	case q.othersAmong(w.Names, node):
		return others
	case w.HasFired():
		return unknown
	}
	return alone
}

// othersAmong reports whether names, a queue's children, are of any contender but the one of
// that name.
func (q *Queue) othersAmong(names []string, node string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		n, ok := recipe.Parse(name)
		return ok && name != node && !q.isBystander(n)
	})
}
