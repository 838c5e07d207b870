package zktest

import (
	"cmp"
	"slices"
	"time"
)

// look makes s lose its leader, or its own leadership: it serves nobody and waits for an election.
func (s *Server) look() {
	s.abandon()
	s.looking = time.Now()
	s.e.after(s.e.electionTime, s.e.elect)
}

// abandon ends every bond of s. Those at the other end see the closed connection, if the network lets them.
func (s *Server) abandon() {
	if l := s.leader; l != nil {
		l.stop()
		for _, f := range l.followers {
			f.send(f.srv.look)
		}
	}
	if f := s.bond; f != nil {
		f.tell(func() { f.leader.drop(f) })
		s.bond = nil
	}
	s.reset()
}

// reset closes every client connection and forgets what a server only keeps in memory.
func (s *Server) reset() {
	for _, c := range s.sortedConns() {
		c.shut()
	}
	s.applies.clear()
	s.disk.clear()
	s.touched = make(map[int64]time.Duration)
	s.stale = stale{}
}

// elect lets every server that has been looking for long enough join a leader it can talk to, or become one.
func (e *Ensemble) elect() {
	for _, s := range e.servers {
		if !s.electable() {
			continue
		}
		if l := e.leaderFor(s); l != nil {
			s.follow(l)
			continue
		}
		if voters := e.voters(s); len(voters) >= e.quorum() {
			best := slices.MaxFunc(voters, (*Server).compareLog)
			if group := e.voters(best); len(group) >= e.quorum() {
				best.lead(group)
			}
		}
	}
}

// electable servers have looked around for the time an election takes.
func (s *Server) electable() bool {
	return !s.down && !s.frozen && s.leader == nil && s.bond == nil && time.Since(s.looking) >= s.e.electionTime
}

// leaderFor returns a leader that s can reach and that has a majority besides.
func (e *Ensemble) leaderFor(s *Server) *leader {
	for _, other := range e.servers {
		if l := other.leader; l != nil && !other.frozen && e.connected(s, other) && other.epoch >= s.epoch &&
			len(l.followers)+1 >= e.quorum() {
			return l
		}
	}
	return nil
}

// voters returns s and the electable servers it is connected to.
func (e *Ensemble) voters(s *Server) []*Server {
	voters := []*Server{s}
	for _, other := range e.servers {
		if other != s && other.electable() && e.connected(s, other) {
			voters = append(voters, other)
		}
	}
	return voters
}

// compareLog orders servers by how much they know, as votes are ordered in ZooKeeper: by the last term they took part
// in, by what they have logged, by their number. A majority logged every committed transaction, so the best of any
// majority knows them all.
func (s *Server) compareLog(other *Server) int {
	return cmp.Or(
		cmp.Compare(s.epoch, other.epoch),
		cmp.Compare(s.lastLogged(), other.lastLogged()),
		cmp.Compare(s.index, other.index),
	)
}

func (s *Server) lastLogged() int64 {
	if n := len(s.accepted); n > 0 {
		return s.accepted[n-1].zxid
	}
	return s.zxid
}

// lead starts a term. Everything in the new leader's log becomes committed, whether or not the last leader got that
// far; every session's countdown starts again.
func (s *Server) lead(group []*Server) {
	s.reset()
	for _, t := range slices.Clone(s.accepted) {
		s.e.committed(s, t)
		s.apply(t)
	}
	zxid := s.zxid
	if len(s.e.servers) > 1 {
		for _, member := range group {
			s.epoch = max(s.epoch, member.epoch)
		}
		s.epoch++
		zxid = s.epoch << 32
	}
	s.leader = &leader{srv: s, zxid: zxid, overlay: newOverlay(s.tree), tracker: newTracker(s)}
	s.leader.scheduleReaper()
	for _, member := range group {
		if member != s {
			member.follow(s.leader)
		}
	}
}

// beat is the half tick of every server.
func (e *Ensemble) beat() {
	e.after(e.tick/2, e.beat)
	for _, s := range e.servers {
		switch {
		case s.down:
		case s.frozen:
			s.overdue = true
		case s.leader != nil:
			s.leader.beat()
		case s.bond != nil && s.bond.lost():
			s.look()
		}
	}
	e.elect()
}
