package zktest

import "time"

// follower is the bond between a leader and a server that follows it, from one sync to the loss of either. Messages of
// an older bond are ignored.
type follower struct {
	leader   *leader
	srv      *Server
	answered int       // the leader's beat at the follower's last answer
	heard    time.Time // when the follower last heard a ping
}

// follow makes s a copy of the leader and hands it the proposals that are still open. Its clients were disconnected
// when it lost its last leader, so there are no watches to fire for what the copy skips.
func (s *Server) follow(l *leader) {
	s.reset()
	s.tree, s.zxid = l.srv.tree.clone(), l.srv.zxid
	s.sessions = make(map[int64]time.Duration, len(l.srv.sessions))
	for id, timeout := range l.srv.sessions {
		s.sessions[id] = timeout
	}
	s.epoch, s.accepted = l.srv.epoch, nil
	f := &follower{leader: l, srv: s, answered: l.beats, heard: time.Now()}
	s.bond = f
	l.followers = append(l.followers, f)
	for _, p := range l.proposals {
		f.propose(p.txn)
	}
}

// send runs fn at the follower, unless the bond is broken by then.
func (f *follower) send(fn func()) {
	f.leader.srv.e.link(f.leader.srv, f.srv).send(func() {
		if f.srv.bond == f {
			fn()
		}
	})
}

// tell runs fn at the leader, unless the term is over or the leader has given this follower up.
func (f *follower) tell(fn func()) {
	f.leader.srv.e.link(f.srv, f.leader.srv).send(func() {
		if f.leader.srv.leader == f.leader && f.leader.follower(f.srv) == f {
			fn()
		}
	})
}

func (f *follower) propose(t *txn) {
	f.send(func() {
		f.srv.accepted = append(f.srv.accepted, t)
		f.srv.logged(func() { f.tell(func() { f.leader.ack(f.srv, t.zxid) }) })
	})
}

func (f *follower) commit(t *txn) {
	f.send(func() { f.srv.applies.push(f.srv.lag, func() { f.srv.apply(t) }) })
}

// ping asks for a sign of life. The touches a follower has collected travel in the answer and nowhere else.
func (f *follower) ping() {
	f.send(func() {
		f.heard = time.Now()
		touched := f.srv.touched
		f.srv.touched = make(map[int64]time.Duration)
		f.tell(func() {
			f.answered = f.leader.beats
			for id, timeout := range touched {
				f.leader.tracker.touch(id, timeout)
			}
		})
	})
}

// revalidate asks the leader whether a session that turns up here is alive; the leader counts it as touched and moved.
func (f *follower) revalidate(id int64, timeout time.Duration, done func(valid bool)) {
	f.tell(func() {
		valid := f.leader.tracker.move(id, timeout, f.srv)
		f.send(func() { done(valid) })
	})
}

// lost reports whether the leader has been silent for longer than the sync limit.
func (f *follower) lost() bool {
	return time.Since(f.heard) > time.Duration(f.leader.srv.e.syncLimit)*f.leader.srv.e.tick
}
