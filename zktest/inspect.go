package zktest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"
)

// Node is a node as one server has it.
type Node struct {
	Path string
	Data []byte
	ACL  []ACL
	Stat Stat
}

// Session is a session as the leader counts it.
type Session struct {
	ID      int64
	Timeout time.Duration // it was created with
	Ends    time.Time     // if nothing more is heard of it
	Server  *Server       // it is connected to; nil if it is not
	Client  *Client       // the place it is connected from; nil if it is not
}

// Nodes returns every node in the order of the paths, ZooKeeper's own left out.
func (s *Server) Nodes() []Node {
	var nodes []Node
	s.e.do(func() {
		shown := s.shown()
		for _, path := range slices.Sorted(maps.Keys(shown)) {
			if n := shown[path]; !special(path) {
				nodes = append(nodes, Node{Path: path, Data: bytes.Clone(n.data), ACL: slices.Clone(n.acl), Stat: n.stat()})
			}
		}
	})
	return nodes
}

// Children returns the names below path in their order, nil if there are none or no such node.
func (s *Server) Children(path string) []string {
	var names []string
	s.e.do(func() {
		if n := s.find(path); n != nil {
			names = n.names()
		}
	})
	return names
}

// Watches returns how many watches this server holds for each path, from connections that last.
func (s *Server) Watches() map[string]int {
	counts := make(map[string]int)
	s.e.do(func() {
		for _, table := range []watchTable{s.watches.data, s.watches.child} {
			for path, conns := range table.byPath {
				counts[path] += len(conns)
			}
		}
	})
	return counts
}

// Zxid returns the zxid of the last transaction this server has applied.
func (s *Server) Zxid() int64 {
	var zxid int64
	s.e.do(func() { zxid = s.zxid })
	return zxid
}

// Sessions returns the sessions that the leader keeps, in the order of their ids; none while nobody leads.
func (e *Ensemble) Sessions() []Session {
	leader := e.Leader()
	var sessions []Session
	e.do(func() {
		if leader == nil || leader.leader == nil {
			return
		}
		for id, c := range leader.leader.tracker.sessions {
			if timeout, committed := leader.sessions[id]; committed {
				server, client := e.at(id)
				ends := c.ends.Add(-leader.skew)
				sessions = append(sessions, Session{ID: id, Timeout: timeout, Ends: ends, Server: server, Client: client})
			}
		}
	})
	slices.SortFunc(sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return sessions
}

// Sessions is Ensemble.Sessions.
func (s *Server) Sessions() []Session { return s.e.Sessions() }

// at returns where a session is connected to and from.
func (e *Ensemble) at(session int64) (*Server, *Client) {
	for _, s := range e.servers {
		for c := range s.conns {
			if c.session == session {
				return s, c.client
			}
		}
	}
	return nil, nil
}

// Requests returns how many requests of each kind have come in at all servers, handshakes included.
func (e *Ensemble) Requests() map[Op]int {
	counts := make(map[Op]int)
	e.do(func() { maps.Copy(counts, e.requests) })
	return counts
}

// Requests is Ensemble.Requests.
func (s *Server) Requests() map[Op]int { return s.e.Requests() }
