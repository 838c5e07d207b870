package zktest

import (
	"slices"
	"time"
)

// leader is what a server is while it leads: it decides requests, numbers them, and commits what a majority has logged.
type leader struct {
	srv       *Server
	zxid      int64 // of the newest proposal
	overlay   *overlay
	tracker   *tracker
	proposals []*proposal // not committed yet
	followers []*follower
	beats     int // half ticks lived through; a frozen leader does not count
	reaper    *time.Timer
}

type proposal struct {
	txn    *txn
	logged []*Server
	syncs  []*syncing // answered behind this proposal
}

type syncing struct {
	origin *Server
	req    *request
}

// submit takes a request from the server it came in at.
func (l *leader) submit(origin *Server, q *request) {
	if l.srv.leader != l {
		return
	}
	if q.op == OpSync {
		l.sync(&syncing{origin, q})
		return
	}
	l.propose(l.prepare(q))
}

// sync answers once everything proposed so far is committed. With nothing outstanding it answers at once, without
// asking anybody (Leader.processSync).
func (l *leader) sync(s *syncing) {
	if n := len(l.proposals); n > 0 {
		l.proposals[n-1].syncs = append(l.proposals[n-1].syncs, s)
		return
	}
	l.answerSync(s)
}

func (l *leader) answerSync(s *syncing) {
	answer := func() { s.req.finish(s.origin.read(s.req)) }
	if s.origin == l.srv {
		answer()
	} else if f := l.follower(s.origin); f != nil {
		f.send(func() { f.srv.applies.push(0, answer) })
	}
}

func (l *leader) propose(t *txn) {
	l.proposals = append(l.proposals, &proposal{txn: t})
	l.srv.accepted = append(l.srv.accepted, t)
	for _, f := range l.followers {
		f.propose(t)
	}
	l.srv.logged(func() { l.ack(l.srv, t.zxid) })
}

// ack counts a server that has t in its log. Transactions are committed in their order.
func (l *leader) ack(s *Server, zxid int64) {
	if l.srv.leader != l {
		return
	}
	for _, p := range l.proposals {
		if p.txn.zxid == zxid && !slices.Contains(p.logged, s) {
			p.logged = append(p.logged, s)
		}
	}
	for len(l.proposals) > 0 && len(l.proposals[0].logged) >= l.srv.e.quorum() {
		p := l.proposals[0]
		l.proposals = l.proposals[1:]
		l.commit(p)
	}
}

func (l *leader) commit(p *proposal) {
	l.srv.e.committed(l.srv, p.txn)
	l.srv.apply(p.txn)
	l.overlay.applied(p.txn.zxid)
	for _, f := range l.followers {
		f.commit(p.txn)
	}
	for _, s := range p.syncs {
		l.answerSync(s)
	}
	l.scheduleReaper()
}

// expire ends a session for good: its closing is a transaction like any other, and nothing is deleted before that is
// committed.
func (l *leader) expire(id int64) {
	l.submit(l.srv, &request{record: record{op: OpCloseSession}, session: id, cause: CauseExpiry})
}

// age is AgeSession where the leader counts.
func (l *leader) age(id int64, d time.Duration) (left time.Duration) {
	for _, f := range l.followers {
		timeout, touched := f.srv.touched[id]
		if touched && l.srv.e.connected(l.srv, f.srv) && !l.srv.frozen && !f.srv.frozen {
			delete(f.srv.touched, id)
			l.tracker.touch(id, timeout)
		}
	}
	return l.tracker.age(id, d)
}

// scheduleReaper keeps a timer while there is anything to reap.
func (l *leader) scheduleReaper() {
	if interval := l.srv.e.containerInterval; interval > 0 && l.reaper == nil && len(l.srv.tree.reapable) > 0 {
		l.reaper = l.srv.e.after(interval, l.reap)
	}
}

func (l *leader) reap() {
	l.reaper = nil
	if l.srv.leader != l {
		return
	}
	if !l.srv.frozen {
		for _, path := range l.srv.tree.expired(time.Now(), l.srv.e.neverUsed) {
			l.submit(l.srv, &request{record: record{op: opDeleteContainer, path: path}, cause: CauseReaper})
		}
	}
	l.scheduleReaper()
}

// stop ends the term. What was proposed and not committed stays in this server's log, and may yet be committed by a
// later leader or be forgotten.
func (l *leader) stop() {
	l.tracker.stop()
	if l.reaper != nil {
		l.reaper.Stop()
	}
	l.srv.leader = nil
}

func (l *leader) follower(s *Server) *follower {
	for _, f := range l.followers {
		if f.srv == s {
			return f
		}
	}
	return nil
}

// drop gives a follower up. The follower sees the closed connection, if the network lets it.
func (l *leader) drop(f *follower) {
	l.followers = slices.DeleteFunc(l.followers, func(other *follower) bool { return other == f })
	f.send(f.srv.look)
}

// beat is the leader's half tick: it pings its followers, whose answers carry the touches of their sessions, and gives
// up when it has not heard from a majority within the sync limit. It counts beats and not time, as ZooKeeper's leader
// counts turns of its loop: time it was frozen for does not count.
func (l *leader) beat() {
	l.beats++
	alive := 1
	for _, f := range slices.Clone(l.followers) {
		if l.beats-f.answered > 2*l.srv.e.syncLimit {
			l.drop(f)
			continue
		}
		alive++
		f.ping()
	}
	if alive < l.srv.e.quorum() {
		l.srv.look()
	}
}
