package zktest

// overlay is the tree as it will be once every outstanding proposal is applied, in the little that decides about the
// next request: ZooKeeper's outstandingChanges. The next sequence number is read here and not in the tree, which is
// why the two disagree at the end of the counter.
type overlay struct {
	tree    *tree
	records map[string]future
	order   []future
	undo    []undo // of the multi being prepared
}

// future is a node as it will be.
type future struct {
	zxid              int64
	path              string
	gone              bool
	acl               []ACL
	owner             int64
	container         bool
	ttl               bool
	children          int
	version, aversion int32
	created           int32
}

type undo struct {
	path   string
	before future
	had    bool
}

func newOverlay(t *tree) *overlay { return &overlay{tree: t, records: make(map[string]future)} }

func (o *overlay) find(path string) (future, bool) {
	if f, found := o.records[path]; found {
		return f, !f.gone
	}
	n, found := o.tree.nodes[path]
	if !found {
		return future{}, false
	}
	return future{
		path: path, acl: n.acl, owner: n.owner, container: n.container, ttl: n.ttl > 0, children: len(n.children),
		version: n.version, aversion: n.aversion, created: n.created,
	}, true
}

func (o *overlay) put(zxid int64, f future) {
	f.zxid = zxid
	before, had := o.records[f.path]
	o.undo = append(o.undo, undo{f.path, before, had})
	o.records[f.path] = f
	o.order = append(o.order, f)
}

// rollback takes back everything put since the last call of begin.
func (o *overlay) rollback() {
	for i := len(o.undo) - 1; i >= 0; i-- {
		u := o.undo[i]
		delete(o.records, u.path)
		if u.had {
			o.records[u.path] = u.before
		}
	}
	o.order = o.order[:len(o.order)-len(o.undo)]
	o.undo = nil
}

func (o *overlay) begin() { o.undo = o.undo[:0] }

// setSequence lets the next child of path be numbered so, if the number would come from here.
func (o *overlay) setSequence(path string, next int32) {
	if f, found := o.records[path]; found {
		f.created = next
		o.records[path] = f
	}
}

// applied forgets what the tree now says itself.
func (o *overlay) applied(zxid int64) {
	n := 0
	for n < len(o.order) && o.order[n].zxid <= zxid {
		path := o.order[n].path
		if o.records[path].zxid <= zxid {
			delete(o.records, path)
		}
		n++
	}
	o.order = o.order[n:]
}

// ephemerals returns the nodes the session will own.
func (o *overlay) ephemerals(session int64) map[string]struct{} {
	paths := make(map[string]struct{})
	for path := range o.tree.ephemerals[session] {
		paths[path] = struct{}{}
	}
	for _, f := range o.order {
		if last := o.records[f.path]; last.gone || last.owner != session {
			delete(paths, f.path)
		} else {
			paths[f.path] = struct{}{}
		}
	}
	return paths
}
