package zklock

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
)

// announcePart is what a server that serves nobody needs to say so, as a part of the
// session timeout.
const announcePart = 1.0 / 64

// beginHandshake notes that a connect request is about to be sent on l, and returns how long
// the answer may take. A request for a new session is of no matter to the old.
func (s *Session) beginHandshake(l *link) (limit time.Duration) {
	s.mu.Lock()
	if s.id != 0 {
		s.unheard.Sent(l.connected, s.shortest)
		if s.epoch != nil {
			s.epoch.Shorten(lease.UnheardEnd(l.connected, s.shortest))
			s.look(s.clock.Now()) // the next looks are closer
		}
	}
	s.mu.Unlock()
	return s.dialer.handshakeLimit()
}

// terms returns what the lease depends on beside the proofs. s.mu is held.
func (s *Session) terms(now clock.Instant) lease.Terms {
	return lease.Terms{Timeout: s.shortest, Held: len(s.staked) > 0, Unheard: s.unheard.Any(now, s.shortest)}
}

// left returns the session timeout to reckon with, and how much the lease has left:
// none if nothing is under it, or if no server could answer in that time.
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
