package zktest

import (
	"slices"
	"strings"
)

// read executes a request that changes nothing against this server's own tree, however old that is.
func (s *Server) read(q *request) (code, func(*encoder)) {
	if l := s.leader; l != nil && l.tracker.check(q.session, s) == sessionMoved {
		return sessionMoved, nil
	}
	switch q.op {
	case OpPing:
		return ok, nil
	case OpSync:
		return ok, func(e *encoder) { e.string(q.path) }
	case OpSetWatches, OpSetWatches2:
		s.setWatches(q.conn, q.watches)
		return ok, nil
	case OpAddWatch:
		return s.addWatch(q)
	case OpCheckWatches, OpRemoveWatches:
		return s.removeWatch(q)
	case OpMultiRead:
		return ok, s.multiRead(q)
	case OpWhoAmI:
		return ok, func(e *encoder) { encodeIdentities(e, q.who) }
	case OpGetEphemerals:
		paths := s.owned(q.session, q.path)
		return ok, func(e *encoder) { e.strings(paths) }
	case OpExists, OpGetData, OpGetACL, OpGetChildren, OpGetChildren2, OpGetAllChildrenNumber:
		return s.readNode(q)
	}
	return unimplemented, nil
}

func (s *Server) readNode(q *request) (code, func(*encoder)) {
	if q.op == OpExists && strings.IndexByte(q.path, 0) >= 0 {
		return badArguments, nil
	}
	n := s.find(q.path)
	if q.op == OpExists && q.watch {
		s.watches.data.add(q.path, q.conn, oneShot) // on an absent node too
	}
	if n == nil {
		return noNode, nil
	}
	needs, forAll := permRead, q.op == OpExists && !s.e.since(9)
	if q.op == OpGetACL {
		needs |= permAdmin
	}
	if !forAll && !permitted(n.acl, needs, q.who) {
		return noAuth, nil
	}
	switch q.op {
	case OpExists:
		return ok, func(e *encoder) { e.stat(n.stat()) }
	case OpGetData:
		if q.watch {
			s.watches.data.add(q.path, q.conn, oneShot)
		}
		return ok, func(e *encoder) { e.bytes(n.data); e.stat(n.stat()) }
	case OpGetACL:
		return ok, func(e *encoder) { e.acl(visible(n.acl, q.who)); e.stat(n.stat()) }
	case OpGetAllChildrenNumber:
		return ok, func(e *encoder) { e.int32(s.descendants(q.path)) }
	}
	if q.watch {
		s.watches.child.add(q.path, q.conn, oneShot)
	}
	return ok, func(e *encoder) { s.encodeChildren(e, q, n) }
}

// encodeChildren lists in seeded disorder: ZooKeeper's order is that of a HashSet, and nobody may rely on it.
func (s *Server) encodeChildren(e *encoder, q *request, n *node) {
	names := n.names()
	s.e.shuffle(names)
	e.strings(names)
	if q.op == OpGetChildren2 {
		e.stat(n.stat())
	}
}

func visible(acl []ACL, who []identity) []ACL {
	if permitted(acl, permAdmin, who) {
		return acl
	}
	return masked(acl)
}

func (s *Server) owned(session int64, prefix string) []string {
	// FinalRequestProcessor trims to see whether all are meant, and then compares with what it was given.
	trimmed := strings.TrimFunc(prefix, func(r rune) bool { return r <= ' ' })
	all := trimmed == "" || trimmed == "/"
	var paths []string
	for path := range s.tree.ephemerals[session] {
		if all || strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (s *Server) descendants(path string) int32 {
	var n int32
	for other := range s.shown() {
		if other != path && strings.HasPrefix(other, strings.TrimSuffix(path, "/")+"/") {
			n++
		}
	}
	return n
}

// multiRead answers several reads in one reply, each with what it came to.
func (s *Server) multiRead(q *request) func(*encoder) {
	return func(e *encoder) {
		for _, r := range q.ops {
			r.watch = false // MultiOperationRecord drops it
			c, reply := s.readNode(&request{record: r, conn: q.conn, who: q.who})
			if c != ok {
				multiHeader(e, opError, false, c)
				e.int32(int32(c))
				continue
			}
			multiHeader(e, r.op, false, ok)
			reply(e)
		}
		multiHeader(e, -1, true, -1)
	}
}

func encodeIdentities(e *encoder, who []identity) {
	e.int32(int32(len(who)))
	for _, id := range who {
		user := id.id
		if id.scheme == "digest" {
			user, _, _ = strings.Cut(user, ":")
		}
		e.string(id.scheme)
		e.string(user)
	}
}
