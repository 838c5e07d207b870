package zktest

// Freeze stops the whole server, as SIGSTOP does: it reads nothing, answers nothing, expires nobody, and keeps every
// connection. New connections are taken and not answered.
func (s *Server) Freeze() {
	s.e.do(func() { s.frozen = true })
}

// Thaw lets a frozen server go on. Whether it first works through what has arrived or first ends the sessions whose
// time is over is drawn, as it is a race in ZooKeeper; it does not know yet that another leader may have been elected.
func (s *Server) Thaw() {
	s.e.do(func() {
		if !s.frozen {
			return
		}
		s.frozen = false
		work := []func(){s.wakeAll, func() {
			if s.leader != nil {
				s.leader.tracker.expire()
			}
		}}
		first := s.e.rng.IntN(2)
		work[first]()
		s.e.settle()
		work[1-first]()
	})
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
// are refused.
func (s *Server) Stop() {
	s.e.do(func() {
		if s.down {
			return
		}
		s.down, s.frozen = true, false
		for _, c := range s.sortedConns() {
			c.close()
		}
		s.abandon()
	})
}

// Restart starts a stopped server again. It serves once it has found a leader or become one.
func (s *Server) Restart() {
	s.e.do(func() {
		if s.down {
			s.down = false
			s.look()
		}
	})
}
