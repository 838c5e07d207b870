package zklock

import "sync"

// signal is a channel that closes once, made when somebody asks for it: most
// locks are released before anybody does.
type signal struct {
	mu    sync.Mutex
	ch    chan struct{}
	given bool
}

// give closes the channel.
func (s *signal) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given {
		return
	}
	s.given = true
	if s.ch != nil {
		close(s.ch)
	}
}

// done returns the channel.
func (s *signal) done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		if s.given {
			return closed
		}
		s.ch = make(chan struct{})
	}
	return s.ch
}

// closed is a channel that is closed.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// isClosed tells whether a channel that carries nothing has been closed.
func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
