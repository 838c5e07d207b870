package zktest

import "strings"

// missed stands for the zxid of a change that came about while the client was away.
const missed = -1

// setWatches puts the watches of a reconnected client back, and fires those that have missed something since the last
// zxid it saw, in the order of the client's lists, which in most clients is a map's (DataTree.setWatches).
func (s *Server) setWatches(c *conn, w watchLists) {
	for _, path := range w.data {
		switch n := s.find(path); {
		case n == nil:
			c.event(nodeDeleted, path, missed)
		case n.mzxid > w.zxid:
			c.event(nodeDataChanged, path, missed)
		default:
			s.watches.data.add(path, c, oneShot)
		}
	}
	for _, path := range w.exist {
		if s.find(path) != nil {
			c.event(nodeCreated, path, missed)
		} else {
			s.watches.data.add(path, c, oneShot)
		}
	}
	for _, path := range w.child {
		switch n := s.find(path); {
		case n == nil:
			c.event(nodeDeleted, path, missed)
		case n.pzxid > w.zxid:
			c.event(nodeChildrenChanged, path, missed)
		default:
			s.watches.child.add(path, c, oneShot)
		}
	}
	for _, path := range w.persistent {
		s.watches.data.add(path, c, persistent)
		s.watches.child.add(path, c, persistent)
	}
	for _, path := range w.recursive {
		s.watches.data.add(path, c, recursive)
		s.watches.child.add(path, c, recursive)
	}
}

// addWatch's modes on the wire.
const (
	addPersistent = 0
	addRecursive  = 1
)

func (s *Server) addWatch(q *request) (code, func(*encoder)) {
	mode := persistent
	switch q.mode {
	case addPersistent:
	case addRecursive:
		mode = recursive
	default:
		return marshallingError, nil
	}
	s.watches.data.add(q.path, q.conn, mode)
	s.watches.child.add(q.path, q.conn, mode)
	return ok, func(e *encoder) { e.int32(int32(ok)) }
}

// The kinds of watches that checkWatches and removeWatches name (Watcher.WatcherType).
const (
	kindChildren = 1
	kindData     = 2
	kindAny      = 3
)

func (s *Server) removeWatch(q *request) (code, func(*encoder)) {
	has := func(w watchTable) bool { return w.has(q.path, q.conn) }
	unknown := q.mode < kindChildren || q.mode > kindAny
	if !s.e.since(9) {
		if q.op == OpCheckWatches {
			has = func(w watchTable) bool { return len(w.byPath[q.path]) > 0 } // anybody's: WatchManager.containsWatcher
			// PathParentIterator cuts off the last name ahead of its first look.
			unknown = unknown || q.path != "" && !strings.Contains(q.path, "/")
		}
		if unknown {
			return marshallingError, nil
		}
	}
	data := q.mode != kindChildren && has(s.watches.data)
	child := q.mode != kindData && has(s.watches.child)
	if unknown || !data && !child {
		return noWatcher, nil
	}
	if q.op == OpRemoveWatches {
		if data {
			s.watches.data.remove(q.path, q.conn)
		}
		if child {
			s.watches.child.remove(q.path, q.conn)
		}
	}
	return ok, nil
}
