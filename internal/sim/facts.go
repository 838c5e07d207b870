package sim

import "time"

// ended tells whether c's owner has lost it, or what it holds beside it, be it
// that it knows or not.
func (r *referee) ended(c *claim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for own := c; own != nil; own = own.beside {
		for _, part := range own.parts() {
			if part.isLost() || r.tree[part.node] == nil {
				return true
			}
		}
	}
	return false
}

// returned takes the moment at which a claim's owner begins to give it back.
func (r *referee) returned(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range c.parts() {
		if _, held := r.claims[c]; held {
			delete(r.claims, c)
			r.last[c.path] = c
			r.handed[c.node] = true
			close(c.over)
		}
	}
}

// closing takes the moment at which a session's Close is called, which gives
// everything back.
func (r *referee) closing(inc *incarnation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inc.closing.Store(true)
	for c := range r.claims {
		if c.inc == inc {
			r.handed[c.node] = true
		}
	}
}

// moved takes the moment at which c's owner begins to hold by another node, too.
func (r *referee) moved(c *claim, node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.note(c.who, "downgrades to %s", base(node))
	c.node, c.read = node, true
}

// nodeOf returns the first node of a session in a queue.
func (r *referee) nodeOf(session int64, path string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *node
	for _, n := range r.tree {
		if n.owner == session && n.queues && dirOf(n.path) == path && (first == nil || n.sequence < first.sequence) {
			first = n
		}
	}
	if first == nil {
		return "", false
	}
	return first.path, true
}

// nodesOf returns the nodes of a session.
func (r *referee) nodesOf(session int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for path, n := range r.tree {
		if n.owner == session {
			paths = append(paths, path)
		}
	}
	return paths
}

// storm takes the moment at which a fault strikes.
func (r *referee) storm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calm = false
}

// isCalm tells whether no fault has struck yet.
func (r *referee) isCalm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calm
}

// contended tells whether anybody had a node of l since then.
func (r *referee) contended(l *lock, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range r.tree {
		if l.covers(path) {
			return true
		}
	}
	for path, n := range r.gone {
		if l.covers(path) && !n.gone.Before(since) {
			return true
		}
	}
	return false
}

// node returns a node that there is, or was; nil if there never was.
func (r *referee) node(path string) *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.tree[path]; n != nil {
		return n
	}
	return r.gone[path]
}

// existed tells whether a node was there at any time since then.
func (r *referee) existed(path string, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.gone[path]
	return r.tree[path] != nil || n != nil && !n.gone.Before(since)
}

// keeps tells whether c's node is there although c was given back, and its session
// is still the one that c's machine has.
func (r *referee) keeps(c *claim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.tree[c.node]
	_, held := r.claims[c]
	return !held && n != nil && n.owner == c.inc.session.ID()
}

// holds tells whether somebody holds a lock by a node of that session.
func (r *referee) holds(session int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.claims {
		if n := r.tree[c.node]; n != nil && n.owner == session && c.believed() {
			return true
		}
	}
	return false
}

// isExpired tells whether the server has ended the session.
func (r *referee) isExpired(session int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expired[session]
}

// nodes returns the ephemeral nodes that there are.
func (r *referee) nodes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for path := range r.tree {
		paths = append(paths, path)
	}
	return paths
}
