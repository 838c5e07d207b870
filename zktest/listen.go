package zktest

import "net"

// Addr returns the server's TCP address on the loopback interface, which stays the same. The server starts to listen when
// that is first called, so that a server that is only reached by Dial opens no socket. It panics if it cannot listen.
func (s *Server) Addr() string {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.addr == "" {
		s.listen("127.0.0.1:0")
		s.openOrClose()
	}
	return s.addr
}

// openOrClose has the server listen while it takes connections, so that the system refuses them otherwise. It panics if
// somebody else listens at its address by now. The caller holds the lock.
func (s *Server) openOrClose() {
	taking := !s.e.closed && !s.down && !s.refusing
	switch {
	case taking && s.addr != "" && s.listener == nil:
		s.listen(s.addr)
	case !taking && s.listener != nil:
		s.listener.Close()
		s.listener = nil
	}
}

func (s *Server) listen(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic("zktest: " + err.Error())
	}
	s.listener, s.addr = l, l.Addr().String()
	if !s.e.closed { // or Close may have waited for the last worker
		s.e.workers.Add(1)
		go s.take(l)
	}
}

// take serves the connections that come in, until l is closed.
func (s *Server) take(l net.Listener) {
	defer s.e.workers.Done()
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		client := s.e.Client("")
		s.e.do(func() {
			if s.listener != l {
				nc.Close()
				return
			}
			s.accept(nc, client)
		})
	}
}
