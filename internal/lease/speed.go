package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Speed is how fast one connection answers.
type Speed struct {
	slow      clock.Instant // until when a leader has to catch up that was paused when a write was slow
	fastest   time.Duration // answer to any request so far; 0 before the first
	lastProof time.Duration // what the answer to the last one took, or, before the first, by that to the connect request
}

// NewSpeed begins with what the first proof is to take by the answer to the connect request: a
// round trip too, and one for each login ahead of it. It is no measure of what is quick, since a
// pause may have been in that.
func NewSpeed(first time.Duration) Speed { return Speed{lastProof: first} }

// Answered notes what an answer has taken.
func (s *Speed) Answered(took time.Duration) {
	if took = max(took, 1); s.fastest == 0 || took < s.fastest {
		s.fastest = took
	}
}

// RoundTrip returns how long the fastest answer has taken, 0 before the first.
func (s *Speed) RoundTrip() time.Duration { return s.fastest }

// Wrote notes a write of any kind, and reports whether it was quick. How much longer than a round
// trip it may take is how long before the end of a pause it may have been sent. So it is no measure
// what other writes have taken, nor a long round trip: both may be more than they take by now. But
// where answers take too long for a second proof in time, nobody would have a lock otherwise.
func (s *Speed) Wrote(sent, answered clock.Instant, timeout time.Duration) (quick bool) {
	roundTrip, most := s.fastest, part(timeout, quickPart)
	if roundTrip <= part(timeout, twicePart) {
		roundTrip = min(roundTrip, most)
	}
	if quick = answered.Most(sent) <= roundTrip+most; !quick {
		s.slow = answered.Add(part(timeout, doubtPart))
	}
	return quick
}

// Proved is Wrote for a proof. One that follows a slow write is not quick until a leader that was
// paused would have caught up: it goes on with the writes that have come, and may end the sessions
// that seem overdue just behind them.
func (s *Speed) Proved(begun, answered clock.Instant, timeout time.Duration) (quick bool) {
	s.lastProof = answered.Most(begun)
	return s.Wrote(begun, answered, timeout) && s.Doubted(begun) <= 0
}

// Doubted returns how long it is until a proof may count as quick.
func (s *Speed) Doubted(now clock.Instant) time.Duration { return s.slow.Least(now) }

// Patience returns how long a proof may take until its server is given up, so that another can
// be found in what the lease has left; 0 if nothing is to be saved. A server that answers, if
// slowly, keeps the session better than the way to another one.
func (s *Speed) Patience(timeout, left time.Duration) time.Duration {
	limit := part(timeout, relayPart)
	if left == 0 {
		return limit
	}
	return min(limit, max(left/2, min(2*s.lastProof, left)))
}
