package queue

import (
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/wire"
)

// Session is a client.Observer. What it is told of a connection is in incarnation.go.
var _ client.Observer = (*Session)(nil)

// Left returns how much the lease has left if anything stands under it: 0 if that is too little to
// be of use.
func (s *Session) Left() (timeout, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	timeout = s.lease.Timeout()
	if s.protected.length > 0 {
		left = s.lease.Left(s.client.Clock.Now())
	}
	if left < lease.TooLate(timeout) {
		left = 0
	}
	return timeout, left
}

// Asks shortens the lease, as far as a server may shorten the session whose answer is never
// heard.
func (s *Session) Asks(at clock.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		return // a request for a new session is of no matter to the old
	}
	s.lease.Asks(at)
	s.look(s.client.Clock.Now()) // the next looks are closer
}

func (s *Session) Listed(l *wire.Link, dir string, names []string) { s.sweep(l, dir, names) }

func (s *Session) Deleted(path string) {
	s.tellContender(path, func(c *contender) {
		s.look(s.client.Clock.Now()) // the node may have gone while this process did not run
		c.lose(errNodeDeleted)
	})
}

// Changed watches anew a node that somebody may yet ask for the lock back.
func (s *Session) Changed(path string) {
	s.tellContender(path, func(c *contender) {
		if c.hold != nil || c.turn != nil {
			s.client.Watch(client.WatchKey{Path: path})
		}
	})
}

func (s *Session) Read(path string, said client.Content) {
	s.tellContender(path, func(c *contender) { c.onContent(said) })
	s.tellForeign(path, said.Stat)
}

// tellContender calls f, under the mutex, if path is a contender's node.
func (s *Session) tellContender(path string, f func(*contender)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.contenderAt(path); c != nil {
		f(c)
	}
}
