package zktest

import "time"

// ExpireSession ends the session as if its time had run out: its ephemeral nodes go, its connection is closed. It
// reports whether there was such a session and a leader to end it; with too few servers the end stays undecided.
func (e *Ensemble) ExpireSession(id int64) bool {
	found := false
	e.do(func() {
		for _, s := range e.servers {
			if l := s.leader; l != nil && !s.frozen && l.tracker.sessions[id] != nil && !l.tracker.sessions[id].closing {
				l.expire(id)
				found = true
			}
		}
	})
	return found
}

// ExpireSession is Ensemble.ExpireSession.
func (s *Server) ExpireSession(id int64) bool { return s.e.ExpireSession(id) }

// AgeSession lets d pass for one session alone: what its server has heard of it is relayed, and its countdown is nearer
// to its end by d. That is what a client finds whose machine has slept for so long. It returns how much time is left, 0
// if the session has ended or is not known.
func (e *Ensemble) AgeSession(id int64, d time.Duration) (left time.Duration) {
	e.do(func() {
		for _, s := range e.servers {
			if s.leader != nil {
				left = max(left, s.leader.age(id, d))
			}
		}
	})
	return left
}

// Cut breaks every client connection of this server. Requests that have arrived are still executed.
func (s *Server) Cut() {
	s.e.cut(func(c *conn) bool { return c.srv == s })
}

// CutSession breaks the connections of a session.
func (e *Ensemble) CutSession(id int64) {
	e.cut(func(c *conn) bool { return c.session == id })
}

// CutSession breaks the connections of a session to this server.
func (s *Server) CutSession(id int64) {
	s.e.cut(func(c *conn) bool { return c.srv == s && c.session == id })
}

// Cut breaks every connection that comes from c.
func (c *Client) Cut() {
	c.e.cut(func(other *conn) bool { return other.client == c })
}

func (e *Ensemble) cut(which func(*conn) bool) {
	e.do(func() {
		for c := range e.open {
			if which(c) {
				c.nc.Close()
			}
		}
	})
}

// Refuse makes the server refuse new connections, with ECONNREFUSED, or take them again. Those it has stay.
func (s *Server) Refuse(refuse bool) {
	s.e.do(func() {
		s.refusing = refuse
		s.openOrClose()
	})
}

// SetSessionTimeouts sets the bounds into which this server fits the wishes of the sessions that connect to it from now
// on, as while tickTime or maxSessionTimeout is being changed from server to server.
func (s *Server) SetSessionTimeouts(shortest, longest time.Duration) {
	s.e.do(func() { s.minTimeout, s.maxTimeout = shortest, longest })
}

// sequence is what SetSequence has set, and which transactions had been decided until then: they bring numbers of before.
type sequence struct {
	next    int32
	decided int64
}

// SetSequence sets the number that the next sequential child of path gets.
func (e *Ensemble) SetSequence(path string, next int32) {
	e.do(func() {
		set := sequence{next: next}
		for _, s := range e.servers {
			set.decided = max(set.decided, s.lastLogged())
			if n := s.tree.nodes[path]; n != nil {
				n.created = next
			}
			if s.leader != nil {
				s.leader.overlay.setSequence(path, next)
			}
		}
		e.sequences[path] = set
	})
}

// SetSequence is Ensemble.SetSequence.
func (s *Server) SetSequence(path string, next int32) { s.e.SetSequence(path, next) }

// JumpClock sets the clock by which the server, if it leads, counts sessions down ahead by d.
func (s *Server) JumpClock(d time.Duration) {
	s.e.do(func() {
		s.skew += d
		if s.leader != nil {
			s.leader.tracker.expire()
		}
	})
}

// Lag makes the server apply what the leader commits, and answer syncs, only after d. It takes effect while it follows.
func (s *Server) Lag(d time.Duration) {
	s.e.do(func() {
		s.lag = d
		s.applies.hurry(d)
	})
}
