package zktest

import (
	"maps"
	"strings"
)

// stale is in what a follower differs from its leader, for good. Its own copy stays what the leader's is: what it shows and
// tells differs.
type stale struct {
	kept  map[string]*node // what is shown when it has been deleted; nil until then
	lacks []string         // nodes that are not shown, nor what is below them
}

// KeepNode has this server, while it follows the leader that it has now, keep the node at path for good: when that is
// deleted, reads go on to find it here as it was, and no watch of it or of its parent's children fires; only a parent that
// has been made anew does not list it. A sync does not change that. So do servers with ZOOKEEPER-5010 or ZOOKEEPER-4541 with
// an ephemeral node whose session has ended. The leader, and with it each write and each check in a multi, knows that the
// node is gone. It reports whether the server follows and shows the node; otherwise nothing changes.
func (s *Server) KeepNode(path string) (keeps bool) {
	s.e.do(func() {
		if keeps = s.bond != nil && s.find(path) != nil; keeps {
			s.keep(path)
		}
	})
	return keeps
}

// LackNode has this server, while it follows the leader that it has now, lack the node at path, and those below it, for
// good: reads do not find it here, nor what comes there later, and no watch tells of it. The leader knows it, and carries out
// what is written there; to a create below it, a write, or a delete the server answers all the same that there is no such
// node. In a multi it does not. It reports whether the server follows; otherwise nothing changes.
func (s *Server) LackNode(path string) (lacks bool) {
	s.e.do(func() {
		if lacks = s.bond != nil; lacks {
			s.stale.lacks = append(s.stale.lacks, path)
		}
	})
	return lacks
}

func (s *Server) keep(path string) {
	if s.stale.kept == nil {
		s.stale.kept = make(map[string]*node)
	}
	if _, kept := s.stale.kept[path]; !kept {
		s.stale.kept[path] = nil // until it is deleted
	}
}

// hides reports whether path is, or is below, what s lacks.
func (s *Server) hides(path string) bool {
	for _, lacked := range s.stale.lacks {
		if path == lacked || strings.HasPrefix(path, strings.TrimSuffix(lacked, "/")+"/") {
			return true
		}
	}
	return false
}

// remove deletes n. If s is to keep it, s shows it from now on, and its parent as if nothing had happened.
func (s *Server) remove(path string, n, parent *node, zxid int64) (told bool) {
	before := parent.pzxid
	s.tree.delete(path, zxid)
	if _, keeps := s.stale.kept[path]; keeps {
		s.stale.kept[path], parent.pzxid = n, before
		return false
	}
	return !s.hides(path)
}

// find returns the node that s shows at path.
func (s *Server) find(path string) *node {
	n := s.tree.find(path)
	if n == nil {
		n = s.stale.kept[path]
	}
	if n == nil || s.hides(path) {
		return nil
	}
	return s.withChildren(path, n)
}

// withChildren returns n with the children that s shows.
func (s *Server) withChildren(path string, n *node) *node {
	shown := n
	change := func(child string, change func(names map[string]struct{}, name string)) {
		if parent, name, _ := splitPath(child); parent == path {
			if shown == n {
				shown = n.clone()
			}
			if shown.children == nil {
				shown.children = make(map[string]struct{})
			}
			change(shown.children, name)
		}
	}
	for child, kept := range s.stale.kept {
		if kept != nil && kept.czxid >= n.czxid {
			change(child, func(names map[string]struct{}, name string) { names[name] = struct{}{} })
		}
	}
	for _, child := range s.stale.lacks {
		change(child, func(names map[string]struct{}, name string) { delete(names, name) })
	}
	return shown
}

// shown returns all nodes that s shows, by their paths.
func (s *Server) shown() map[string]*node {
	if len(s.stale.kept) == 0 && len(s.stale.lacks) == 0 {
		return s.tree.nodes
	}
	paths := maps.Clone(s.tree.nodes)
	maps.Copy(paths, s.stale.kept)
	shown := make(map[string]*node, len(paths))
	for path := range paths {
		if n := s.find(path); n != nil {
			shown[path] = n
		}
	}
	return shown
}

// missing returns what s answers to its own client where the leader has carried out a: as DataTree reports it.
func (s *Server) missing(a action) code {
	at := a.path
	if a.op.creates() {
		at, _, _ = splitPath(a.path)
	}
	if len(s.stale.lacks) > 0 && (s.hides(at) || a.op == OpDelete && s.hides(a.path)) {
		return noNode
	}
	return ok
}
