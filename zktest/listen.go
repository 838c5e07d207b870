package zktest

import "net"

// Addr returns the server's TCP address on the loopback interface. It starts to listen when first called, so that a
// server that is only reached by Dial opens no socket. It panics if it cannot listen.
func (s *Server) Addr() string {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.listener == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic("zktest: " + err.Error())
		}
		s.listener = l
		if s.e.closed {
			l.Close() // it is an address still, and nobody is there
		} else {
			s.e.workers.Add(1)
			go s.listen(l)
		}
	}
	return s.listener.Addr().String()
}

func (s *Server) listen(l net.Listener) {
	defer s.e.workers.Done()
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		client := s.e.Client("")
		s.e.do(func() {
			if s.e.closed || s.down || s.refusing {
				nc.Close()
				return
			}
			s.accept(nc, client)
		})
	}
}
