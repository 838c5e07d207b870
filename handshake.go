package zklock

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// A connect request that has reached a server may have the leader count the session
// down anew, for as long as that server grants, and at any moment after it was sent:
// a server that hung may find it in its buffers much later. Whether its answer is
// ever heard has nothing to do with it.
//
// The leader also notes which server the session has come to, and refuses the writes
// of any other. So a proof that was committed over the present connection shows that
// none of the earlier requests without an answer has been carried out since that
// connection was made, and until the proof was. From then on it may happen any time.
//
// Assumed: no server grants less than a quarter of what another of the ensemble has
// granted, and none carries out a connect request later than eight session timeouts
// after it was sent; a leader gives up a follower that hangs after syncLimit ticks.
const (
	leastGrant  = 1.0 / 4 // of the timeout: what a server may grant that has not been heard
	requestLife = 8       // timeouts after which a connect request is not carried out any more

	announcePart = 1.0 / 64 // of the timeout: what a server that serves nobody needs to say so
	tooLatePart  = 1.0 / 64 // of the timeout: what a lease has left when no server is in time any more
)

// unheardEnd returns until when a session of that timeout is safe if a connect
// request without an answer may be carried out from then on.
func unheardEnd(from clock.Instant, timeout time.Duration) clock.Instant {
	return from.Add(part(timeout, leastGrant*touchPart))
}

// beginHandshake notes that a connect request is about to be sent on l, and returns how long
// the answer may take. A request for a new session is of no matter to the old.
func (s *Session) beginHandshake(l *link) (limit time.Duration) {
	s.mu.Lock()
	if s.id != 0 {
		s.unheard(l.connected) // which forgets those that are over
		s.unanswered = append(s.unanswered, l.connected)
		if s.epoch != nil {
			s.epoch.shorten(unheardEnd(l.connected, s.shortest))
			s.look(s.clock.Now()) // the next looks are closer
		}
	}
	s.mu.Unlock()
	return s.dialer.handshakeLimit()
}

// heard notes the answer to the newest connect request. s.mu is held.
func (s *Session) heard() {
	if n := len(s.unanswered); n > 0 {
		s.unanswered = s.unanswered[:n-1]
	}
}

// unheard tells whether a connect request without an answer may yet be carried out.
// s.mu is held.
func (s *Session) unheard(now clock.Instant) bool {
	for len(s.unanswered) > 0 && now.Least(s.unanswered[0]) > requestLife*s.shortest {
		s.unanswered = s.unanswered[1:]
	}
	return len(s.unanswered) > 0
}

// interval returns the time from proof to proof, half of the usual while less may
// have been granted than is known. s.mu is held.
func (s *Session) interval(now clock.Instant) time.Duration {
	if s.unheard(now) {
		return part(s.shortest, intervalPart/2)
	}
	return part(s.shortest, intervalPart)
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
		left = s.epoch.left(s.clock.Now())
	}
	if left < part(s.shortest, tooLatePart) {
		left = 0
	}
	return s.shortest, left
}
