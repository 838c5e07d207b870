package zklock

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/wire"
)

// wireSession is the session as its connections see it.
type wireSession Session

func (s *wireSession) ID() int64 { return (*Session)(s).ID() }

func (s *wireSession) Left() (timeout, left time.Duration) { return (*Session)(s).left() }

func (s *wireSession) Asks(at clock.Instant) { (*Session)(s).asks(at) }

func (s *wireSession) Connected(l *wire.Link, timeout time.Duration) {
	(*Session)(s).connected(l, timeout)
}

func (s *wireSession) Disconnected(l *wire.Link, cause error) { (*Session)(s).disconnected(l, cause) }

func (s *wireSession) Failed(cause error) { (*Session)(s).failed(cause) }

func (s *wireSession) Watches(r wire.Request) bool { return (*Session)(s).watching(r) }

func (s *wireSession) Spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (*Session)(s).spawnLocked(f)
}

// asks notes that a connect request is about to be sent. One for a new ZooKeeper session
// is of no matter to the old.
func (s *Session) asks(at clock.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		return
	}
	s.unheard.Sent(at, s.shortest)
	if s.epoch != nil {
		s.epoch.Shorten(lease.UnheardEnd(at, s.shortest))
		s.look(s.clock.Now()) // the next looks are closer
	}
}

// terms returns what the lease depends on beside the proofs. s.mu is held.
func (s *Session) terms(now clock.Instant) lease.Terms {
	return lease.Terms{Timeout: s.shortest, Held: len(s.staked) > 0, Unheard: s.unheard.Any(now, s.shortest)}
}

// left is what wire.Session has as Left.
func (s *Session) left() (timeout, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shortest == 0 {
		return s.Timeout(), 0
	}
	if len(s.staked) > 0 && s.epoch != nil {
		left = s.epoch.Left(s.clock.Now())
	}
	if left < lease.TooLate(s.shortest) {
		left = 0
	}
	return s.shortest, left
}
