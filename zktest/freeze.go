package zktest

import "time"

// Freeze stops the whole server, as SIGSTOP does: it reads nothing, answers nothing, expires nobody, and keeps every
// connection. New connections are taken and not answered.
func (s *Server) Freeze() {
	s.e.do(func() { s.frozen = true })
}

// Thaw lets a frozen server go on. It works through what has arrived, ends the sessions whose time is over, and makes
// up for the beat that it has missed, in an order that is drawn, as it is a race of threads in ZooKeeper; it does not
// know yet that another leader may have been elected.
func (s *Server) Thaw() {
	s.e.do(func() {
		if !s.frozen {
			return
		}
		s.frozen = false
		work := []func(){s.wakeAll, s.expire, s.beatLate}
		for _, i := range s.e.rng.Perm(len(work)) {
			work[i]()
			s.e.settle()
		}
		s.e.elect()
	})
}

func (s *Server) expire() {
	if s.leader != nil {
		s.leader.tracker.expire()
	}
}

// beatLate is the beat whose time came while s was frozen: a leader's loop waits for a time, and goes on at once when
// that has passed.
func (s *Server) beatLate() {
	if s.overdue && s.leader != nil {
		s.leader.beat()
	}
	s.overdue = false
}

// wakeAll lets everything look again that a freeze of s may have stopped.
func (s *Server) wakeAll() {
	s.disk.wake()
	s.applies.wake()
	for _, from := range s.e.servers {
		s.e.link(from, s).wake()
	}
	for _, c := range s.sortedConns() {
		c.in.wake()
	}
}

// Stop kills the server. What it has logged stays. Its connections break, those to the other servers too, and new ones
// are refused, with ECONNREFUSED.
func (s *Server) Stop() {
	s.e.do(s.stop)
}

func (s *Server) stop() {
	if s.down {
		return
	}
	s.down, s.frozen, s.overdue = true, false, false
	s.openOrClose()
	for _, c := range s.sortedConns() {
		c.close()
	}
	s.abandon()
}

// LoseData stops every server, and takes from each what it has on its disk: the nodes, the sessions, and the number of
// the last transaction. Restart starts them as if they had never served. Observers are not told what has gone.
func (e *Ensemble) LoseData() {
	e.do(func() {
		for _, s := range e.servers {
			s.stop()
		}
		for _, s := range e.servers {
			s.tree, s.sessions = newTree(), make(map[int64]time.Duration)
			s.zxid, s.accepted, s.epoch = 0, nil, 0
		}
		e.observed = 0
		clear(e.sequences)
	})
}

// Restart starts a stopped server again. It serves once it has found a leader or become one.
func (s *Server) Restart() {
	s.e.do(func() {
		if s.down {
			s.down, s.started = false, time.Now()
			s.openOrClose()
			s.look()
		}
	})
}
