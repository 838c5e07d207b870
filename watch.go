package zklock

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// watch is a watch on one node, shared by all who wait for that node over one
// connection: a caller that polls must not add one each time. go-zookeeper knows
// nothing of it but its event: it cannot remove a watch, and would have one more of
// each node that is watched after each reconnect. The link asks for it: see watching.
type watch struct {
	link  *wire.Link
	armed chan struct{} // closed when the server has answered
	stat  *zk.Stat      // of the node, once armed
	data  []byte        // of the node, if the data is watched
	names []string      // of its children, if they are watched
	err   error         // why it could not be armed, once armed is closed
	fired chan struct{} // closed by the node's change, the connection's end, or err
	// deleted says that the node is gone, once fired.
	deleted bool
}

// watchKey says what is watched: a node's data, or its children.
type watchKey struct {
	path     string
	children bool
}

// fire ends the watch. The session's mu is held.
func (w *watch) fire(deleted bool) {
	if !w.hasFired() {
		w.deleted = deleted
		close(w.fired)
	}
}

// end is fired, or a channel that never closes if there is no watch.
func (w *watch) end() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.fired
}

// hasFired tells whether the watch is over.
func (w *watch) hasFired() bool { return latch.IsClosed(w.fired) }

// isArmed tells whether the watch stands, or stood until it fired.
func (w *watch) isArmed() bool { return latch.IsClosed(w.armed) && w.err == nil }

// cameLate tells whether the node was gone before it could be watched.
func (w *watch) cameLate() bool { return latch.IsClosed(w.armed) && errors.Is(w.err, zk.ErrNoNode) }

// refusal returns why a watch cannot be had, if trying again would not help.
func (w *watch) refusal() error {
	if !latch.IsClosed(w.armed) || w.err == nil || errors.Is(w.err, zk.ErrNoNode) || transient(w.err) {
		return nil
	}
	return fmt.Errorf("a node in the lock's queue cannot be watched: %w", w.err)
}

// watch returns the watch on a node's data, setting it if there is none. The
// events of all watches of a connection come in the order of the changes.
func (s *Session) watch(path string) *watch { return s.watchFor(watchKey{path, false}) }

// watchChildren is watch for the children of a node.
func (s *Session) watchChildren(path string) *watch { return s.watchFor(watchKey{path, true}) }

func (s *Session) watchFor(key watchKey) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchLocked(key)
}

func (s *Session) watchLocked(key watchKey) *watch {
	if w := s.watches[key]; w != nil {
		return w
	}
	w := &watch{link: s.link, armed: make(chan struct{}), fired: make(chan struct{})}
	if s.link == nil || !s.spawnLocked(func() { s.arm(key, w) }) {
		w.err = zk.ErrConnectionClosed
		close(w.armed)
		w.fire(false)
		return w
	}
	s.watches[key] = w
	return w
}

// watching reports whether a read is to leave a watch.
func (s *Session) watching(r wire.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[watchKey{r.Path, r.Op == wire.OpGetChildren2}]
	return w != nil && !latch.IsClosed(w.armed)
}

// arm asks for the data, never for existence: that would leave a watch on a node
// that is gone, for ever.
func (s *Session) arm(key watchKey, w *watch) {
	var err error
	if key.children {
		if _, err = s.catchUp(key.path); err == nil {
			w.names, w.stat, err = s.conn.Children(key.path)
		}
	} else {
		w.data, w.stat, err = s.conn.Get(key.path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.link != w.link {
		err = zk.ErrConnectionClosed
	}
	w.err = err
	close(w.armed)
	if err != nil {
		if s.watches[key] == w {
			delete(s.watches, key)
		}
		w.fire(err == zk.ErrNoNode)
	}
	if c := s.contenderAt(key.path); c != nil {
		switch {
		case err == nil:
			c.heed(w.data)
		case errors.Is(err, zk.ErrNoNode):
			c.vanish(errNodeDeleted)
		}
	}
}

// fire ends the watch of that key, if there is one. s.mu is held.
func (s *Session) fire(key watchKey, deleted bool) {
	if w := s.watches[key]; w != nil {
		delete(s.watches, key)
		w.fire(deleted)
	}
}

// notify takes the client's events. It is called from the client's own
// goroutines, also under its locks, and so neither blocks nor calls the client.
func (s *Session) notify(event zk.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, children := watchKey{event.Path, false}, watchKey{event.Path, true}
	switch event.Type {
	case zk.EventNodeDeleted:
		s.fire(data, true)
		s.fire(children, true)
		if c := s.contenderAt(event.Path); c != nil {
			c.vanish(errNodeDeleted)
		}
	case zk.EventNodeDataChanged:
		s.fire(data, false)
		if c := s.contenderAt(event.Path); c != nil && (c.hold != nil || c.turn != nil) {
			c.guard()
		}
	case zk.EventNodeChildrenChanged:
		s.fire(children, false)
	}
}

// contenderAt returns the live contender whose node path is. s.mu is held.
func (s *Session) contenderAt(path string) *contender {
	id, ours := s.ids.of(recipe.Base(path))
	if !ours {
		return nil
	}
	if c := s.live[id]; c != nil && slices.Contains(c.nodes, path) {
		return c
	}
	return nil
}
