package zktest

import "time"

// txn is a decided transaction, the unit of the log. A request that fails is one too, as in ZooKeeper: it takes a zxid
// and needs a majority to be answered.
type txn struct {
	zxid    int64
	at      time.Time
	op      Op
	session int64
	timeout time.Duration // of a new session
	cause   Cause
	code    code // not ok: nothing changes
	actions []action
	req     *request // answered by the server it came in at
}

// action is one validated change to the tree; in a multi that failed, what is reported for that operation.
type action struct {
	op        Op
	code      code
	path      string
	data      []byte
	acl       []ACL
	version   int32 // after the change
	created   int32 // the parent's count of created children, after the change
	owner     int64
	container bool
	ttl       time.Duration
}

// apply makes t's changes on this server: tree, sessions, watches, and the reply if the request came in here. Events go
// out before the reply, and both before any later read of the same connection.
func (s *Server) apply(t *txn) {
	if len(s.accepted) > 0 && s.accepted[0] == t {
		s.accepted = s.accepted[1:]
	}
	s.zxid = t.zxid
	stats := make([]Stat, len(t.actions))
	if t.code == ok {
		for i, a := range t.actions {
			stats[i] = s.perform(a, t)
		}
	}
	switch t.op {
	case OpConnect:
		s.sessions[t.session] = t.timeout
	case OpCloseSession:
		delete(s.sessions, t.session)
		delete(s.touched, t.session)
	}
	if t.req != nil && t.req.conn != nil && t.req.conn.srv == s {
		t.req.finish(s.outcome(t), func(e *encoder) { encodeResult(e, t, stats) })
	}
	if t.op == OpCloseSession {
		s.hangUpOn(t.session) // the one that asked has its answer ahead of that
	}
}

// outcome is what the client is told. A single write that fails here alone is told so, a multi's is not
// (FinalRequestProcessor).
func (s *Server) outcome(t *txn) code {
	if t.code != ok || t.op == OpMulti || len(t.actions) != 1 {
		return t.code
	}
	return s.missing(t.actions[0])
}

func (s *Server) perform(a action, t *txn) Stat {
	parentPath, _, _ := splitPath(a.path)
	n, parent := s.tree.nodes[a.path], s.tree.nodes[parentPath]
	switch {
	case a.op.creates():
		n = s.tree.create(a, t.zxid, t.at)
		s.renumber(a.path, t.zxid)
		s.renumber(parentPath, t.zxid)
		if !s.hides(a.path) {
			s.watches.created(t.zxid, a.path, n.acl, parent.acl)
		}
	case a.op == OpDelete:
		if s.remove(a.path, n, parent, t.zxid) {
			s.watches.deleted(t.zxid, a.path, n.acl, parent.acl)
		}
	case a.op == OpSetData:
		s.tree.setData(a, t.zxid, t.at)
		if !s.hides(a.path) {
			s.watches.changed(t.zxid, a.path, n.acl)
		}
	case a.op == OpSetACL:
		s.tree.setACL(a)
	default:
		return Stat{}
	}
	return n.stat()
}

// renumber takes up what SetSequence has said of path, if zxid was decided before that.
func (s *Server) renumber(path string, zxid int64) {
	if set, found := s.e.sequences[path]; found && zxid <= set.decided {
		n := s.tree.nodes[path]
		n.created, n.pzxid = set.next, zxid
	}
}
