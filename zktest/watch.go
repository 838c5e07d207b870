package zktest

import "slices"

// eventType is what happened to a watched node, as numbered on the wire.
type eventType int32

const (
	nodeCreated         eventType = 1
	nodeDeleted         eventType = 2
	nodeDataChanged     eventType = 3
	nodeChildrenChanged eventType = 4
)

// watchMode tells how long a watch lasts and how far it looks.
type watchMode int8

const (
	oneShot watchMode = iota
	persistent
	recursive
)

// watchTable holds the watches of one kind (data or children) that connections of one server have left. A watch
// belongs to the connection: it goes when the connection does, and the client brings it along to the next.
type watchTable struct {
	byPath map[string]map[*conn]watchMode
	byConn map[*conn]map[string]struct{}
}

func newWatchTable() watchTable {
	return watchTable{byPath: make(map[string]map[*conn]watchMode), byConn: make(map[*conn]map[string]struct{})}
}

func (w watchTable) add(path string, c *conn, mode watchMode) {
	if w.byPath[path] == nil {
		w.byPath[path] = make(map[*conn]watchMode)
	}
	if w.byConn[c] == nil {
		w.byConn[c] = make(map[string]struct{})
	}
	w.byPath[path][c] = mode
	w.byConn[c][path] = struct{}{}
}

func (w watchTable) has(path string, c *conn) bool {
	_, found := w.byPath[path][c]
	return found
}

func (w watchTable) remove(path string, c *conn) {
	delete(w.byPath[path], c)
	if len(w.byPath[path]) == 0 {
		delete(w.byPath, path)
	}
	delete(w.byConn[c], path)
	if len(w.byConn[c]) == 0 {
		delete(w.byConn, c)
	}
}

func (w watchTable) drop(c *conn) {
	for path := range w.byConn[c] {
		w.remove(path, c)
	}
}

// fire sends the event to whoever watches path, except those told already, and returns whom it met. Recursive watches of
// ancestors see it too, but not changes of a child list (PathParentIterator in ZooKeeper's WatchManager). A client that
// may not read the node, by acl, is not told; its watch is used up all the same (CVE-2024-23944).
func (w watchTable) fire(zxid int64, path string, event eventType, acl []ACL, told []*conn) []*conn {
	var hit []*conn
	for at, own := path, true; ; own = false {
		for c, mode := range w.byPath[at] {
			if mode == recursive && event == nodeChildrenChanged || mode != recursive && !own {
				continue
			}
			hit = append(hit, c)
			if mode == oneShot {
				w.remove(at, c)
			}
		}
		if at == "/" {
			break
		}
		at, _, _ = splitPath(at)
	}
	slices.SortFunc(hit, (*conn).compare)
	hit = slices.Compact(hit)
	for _, c := range hit {
		if !slices.Contains(told, c) && permitted(acl, permRead, c.who) {
			c.event(event, path, zxid)
		}
	}
	return hit
}

// watches are a server's two tables. exists and getData share the first, as in ZooKeeper.
type watches struct{ data, child watchTable }

func newWatches() *watches { return &watches{newWatchTable(), newWatchTable()} }

func (w *watches) drop(c *conn) {
	w.data.drop(c)
	w.child.drop(c)
}

func (w *watches) created(zxid int64, path string, acl, parentACL []ACL) {
	parent, _, _ := splitPath(path)
	w.data.fire(zxid, path, nodeCreated, acl, nil)
	w.child.fire(zxid, parent, nodeChildrenChanged, parentACL, nil)
}

func (w *watches) deleted(zxid int64, path string, acl, parentACL []ACL) {
	parent, _, _ := splitPath(path)
	told := w.data.fire(zxid, path, nodeDeleted, acl, nil)
	w.child.fire(zxid, path, nodeDeleted, acl, told)
	w.child.fire(zxid, parent, nodeChildrenChanged, parentACL, nil)
}

func (w *watches) changed(zxid int64, path string, acl []ACL) {
	w.data.fire(zxid, path, nodeDataChanged, acl, nil)
}
