package zklock

import (
	"github.com/go-zookeeper/zk"
)

// watch is a data watch on one node, shared by all who wait for that node over
// one connection: go-zookeeper cannot remove a watch, so a caller that polls
// must not add one each time.
type watch struct {
	link  *link
	armed chan struct{} // closed when the server has answered
	stat  *zk.Stat      // of the node, once armed
	err   error         // why it could not be armed, once armed is closed
	fired chan struct{} // closed by the node's change, the connection's end, or err
	// deleted says that the node is gone, once fired.
	deleted bool
}

// fire ends the watch. The session's mu is held.
func (w *watch) fire(deleted bool) {
	select {
	case <-w.fired:
	default:
		w.deleted = deleted
		close(w.fired)
	}
}

// isArmed tells whether the watch stands, or stood until it fired.
func (w *watch) isArmed() bool {
	select {
	case <-w.armed:
		return w.err == nil
	default:
		return false
	}
}

// watch returns the watch on path, setting it if there is none. The events of
// all watches of a connection come in the order of the changes.
func (s *Session) watch(path string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[path]; w != nil {
		return w
	}
	w := &watch{link: s.link, armed: make(chan struct{}), fired: make(chan struct{})}
	if s.link == nil || !s.spawnLocked(func() { s.arm(path, w) }) {
		w.err = zk.ErrConnectionClosed
		close(w.armed)
		w.fire(false)
		return w
	}
	s.watches[path] = w
	return w
}

// arm asks for the data, never for existence: that would leave a watch on a node
// that is gone, for ever.
func (s *Session) arm(path string, w *watch) {
	_, stat, _, err := s.conn.GetW(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.link != w.link {
		err = zk.ErrConnectionClosed
	}
	w.stat, w.err = stat, err
	close(w.armed)
	if err != nil {
		if s.watches[path] == w {
			delete(s.watches, path)
		}
		w.fire(err == zk.ErrNoNode)
	}
}
