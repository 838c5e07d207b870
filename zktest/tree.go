package zktest

import (
	"maps"
	"slices"
	"time"
)

// tree is one server's copy of the nodes. Nothing here can fail: the leader has validated every action that is applied.
type tree struct {
	nodes      map[string]*node
	ephemerals map[int64]map[string]struct{}
	reapable   map[string]struct{} // containers and nodes with a TTL
}

func newTree() *tree {
	t := &tree{
		nodes:      make(map[string]*node),
		ephemerals: make(map[int64]map[string]struct{}),
		reapable:   make(map[string]struct{}),
	}
	// ZooKeeper makes these outside of any transaction, so that their parents' counters stay at 0 and report -1 and -2.
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		t.nodes[path] = &node{acl: openACL, data: []byte{}}
		if parent, name, _ := splitPath(path); name != "" {
			t.nodes[parent].addChild(name)
		}
	}
	t.nodes["/zookeeper/config"].acl, t.nodes["/zookeeper/config"].aversion = readACL, -1
	return t
}

// clone is what a follower gets when it joins a leader.
func (t *tree) clone() *tree {
	c := &tree{
		nodes:      make(map[string]*node, len(t.nodes)),
		ephemerals: make(map[int64]map[string]struct{}, len(t.ephemerals)),
		reapable:   maps.Clone(t.reapable),
	}
	for path, n := range t.nodes {
		c.nodes[path] = n.clone()
	}
	for id, paths := range t.ephemerals {
		c.ephemerals[id] = maps.Clone(paths)
	}
	return c
}

// find returns the node that a client calls path: ZooKeeper knows its root by the empty path, too.
func (t *tree) find(path string) *node {
	if path == "" {
		path = "/"
	}
	return t.nodes[path]
}

func (t *tree) create(a action, zxid int64, at time.Time) *node {
	parentPath, name, _ := splitPath(a.path)
	parent := t.nodes[parentPath]
	parent.addChild(name)
	// DataTree.createNode takes the larger: at the end of the counter the leader's wraps and this one sticks.
	if a.created > parent.created {
		parent.created, parent.pzxid = a.created, zxid
	}
	ms := at.UnixMilli()
	n := &node{
		data: a.data, acl: a.acl, owner: a.owner, container: a.container, ttl: a.ttl,
		czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: ms, mtime: ms,
	}
	t.nodes[a.path] = n
	if a.owner != 0 {
		if t.ephemerals[a.owner] == nil {
			t.ephemerals[a.owner] = make(map[string]struct{})
		}
		t.ephemerals[a.owner][a.path] = struct{}{}
	}
	if a.container || a.ttl > 0 {
		t.reapable[a.path] = struct{}{}
	}
	return n
}

func (t *tree) delete(path string, zxid int64) {
	n := t.nodes[path]
	parentPath, name, _ := splitPath(path)
	parent := t.nodes[parentPath]
	delete(parent.children, name)
	parent.pzxid = max(parent.pzxid, zxid)
	delete(t.nodes, path)
	delete(t.reapable, path)
	if n.owner != 0 {
		delete(t.ephemerals[n.owner], path)
		if len(t.ephemerals[n.owner]) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
}

func (t *tree) setData(a action, zxid int64, at time.Time) {
	n := t.nodes[a.path]
	n.data, n.version, n.mzxid, n.mtime = a.data, a.version, zxid, at.UnixMilli()
}

func (t *tree) setACL(a action) {
	n := t.nodes[a.path]
	n.acl, n.aversion = a.acl, a.version
}

// expired returns the containers that are empty after having had children, or have had none for as long as neverUsed, and
// the nodes whose TTL is over, as ContainerManager finds them.
func (t *tree) expired(now time.Time, neverUsed time.Duration) []string {
	var paths []string
	for path := range t.reapable {
		n := t.nodes[path]
		if len(n.children) > 0 {
			continue
		}
		limit := n.ttl
		if n.container {
			limit = neverUsed
		}
		if n.container && n.created > 0 || limit > 0 && now.UnixMilli()-n.mtime > limit.Milliseconds() {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
