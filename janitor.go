package zklock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// removal is the delete of one node, which goes on until the node is gone or its
// session is.
type removal struct {
	sent <-chan struct{} // closed when the first delete has been written
	link *link           // to which it is written; nil while disconnected
	done chan struct{}   // closed when the node is gone, or cannot be deleted
	err  error           // why it cannot be, once done
}

// remove deletes c's node in the background. s.mu is held.
func (s *Session) remove(c *contender) *removal {
	r := &removal{link: s.link, done: make(chan struct{})}
	if c.epoch.id != s.id {
		delete(s.live, c.id) // the node went with its session
		close(r.done)
		return r
	}
	fresh := c.sequence >= resetFrom || c.sequence < 0
	key := tapKey{opDelete, c.node}
	if len(c.nodes) > 1 {
		key.op = opMulti
	}
	first := s.taps.add(key)
	r.sent = first.sent
	if !s.spawnLocked(func() {
		r.err = s.deleteNodes(c, fresh)
		s.taps.drop(key, first)
		s.forget(c)
		close(r.done)
	}) {
		s.taps.drop(key, first)
		close(r.done)
	}
	return r
}

// deleteNodes tries until the nodes are known to be gone. It deletes exactly
// those: their names will not come again.
func (s *Session) deleteNodes(c *contender, resetCounter bool) error {
	for try := 0; ; try++ {
		if _, _, err := s.await(s.ctx, c.epoch.id); err != nil {
			return nil // closed or expired: the server deletes it
		}
		if resetCounter && s.resetCounter(c) == nil {
			return nil
		}
		err := s.deleteAll(c.nodes)
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode):
			return nil
		case !transient(err):
			s.log.Error("zklock: lock node cannot be deleted and blocks the others until the session ends",
				"node", c.node, "session", c.epoch.id, "error", err)
			return err
		}
		if err := sleep(s.ctx, pauseBefore(try)); err != nil {
			return nil
		}
	}
}

// deleteAll deletes a contender's nodes.
func (s *Session) deleteAll(nodes []string) error {
	if len(nodes) == 1 {
		return s.conn.Delete(nodes[0], -1)
	}
	deletes := make([]any, len(nodes))
	for i, node := range nodes {
		deletes[i] = &zk.DeleteRequest{Path: node, Version: -1}
	}
	_, err := s.conn.Multi(deletes...)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	// One is missing, which keeps the transaction from deleting the others.
	for _, node := range nodes {
		if err := s.conn.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

// resetCounter deletes the node together with its parent, if nobody else is
// there, so that the parent is made anew with its counter at zero.
func (s *Session) resetCounter(c *contender) error {
	if c.queue.dir == "/" {
		return zk.ErrBadArguments
	}
	_, err := s.conn.Multi(
		&zk.DeleteRequest{Path: c.node, Version: -1},
		&zk.DeleteRequest{Path: c.queue.dir, Version: -1})
	return err
}

// sweep deletes those of the listed children that are ours and that nobody here
// knows: the results of creates that were executed late.
func (s *Session) sweep(l *link, dir string, names []string) {
	var strays map[string][]string
	s.mu.Lock()
	for _, name := range names {
		id, ours := s.ids.of(name)
		if !ours || s.live[id] != nil {
			continue
		}
		if strays == nil {
			strays = make(map[string][]string)
		}
		strays[id] = append(strays[id], join(dir, name))
	}
	s.mu.Unlock()
	for id, nodes := range strays {
		s.discard(l, id, nodes)
	}
}

// discard deletes the nodes that a create of that id in l's session has left,
// unless a live contender knows them.
func (s *Session) discard(l *link, id string, nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[id] != nil || s.closed {
		return
	}
	stray := s.register(&queue{session: s, dir: parent(nodes[0])}, &epoch{id: l.id}, id)
	stray.born(nodes, 0)
	stray.leaving = s.remove(stray)
}

// forget drops a contender whose node is gone.
func (s *Session) forget(c *contender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, c.id)
}

// pauseBefore returns how long to wait before another try: nothing at first,
// since most faults show as a lost connection, whose return is waited for.
func pauseBefore(try int) time.Duration {
	if try == 0 {
		return 0
	}
	return min(firstPause<<min(try-1, 10), maxPause)
}
