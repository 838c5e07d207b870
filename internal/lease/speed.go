package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// RoundTrip returns how long the fastest answer over the present connection has taken, 0 before the first.
func (l *Lease) RoundTrip() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fastest
}

// wrote notes a write of any kind, and reports whether it was quick. How much longer than a round
// trip it may take is how long before the end of a pause it may have been sent. So it is no measure
// what other writes have taken, nor a long round trip: both may be more than they take by now.
func (l *Lease) wrote(sent, answered clock.Instant) (quick bool) {
	most := part(l.timeout, quickPart)
	if quick = answered.Most(sent) <= min(l.fastest, most)+most; !quick {
		l.slow = answered.Add(part(l.timeout, doubtPart))
	}
	return quick
}

// quickProof is wrote for a proof. One that follows a slow write is not quick until a leader that was
// paused would have caught up: it goes on with the writes that have come, and may end the sessions
// that seem overdue just behind them.
func (l *Lease) quickProof(begun, answered clock.Instant) (quick bool) {
	l.lastProof = answered.Most(begun)
	return l.wrote(begun, answered) && l.slow.Least(begun) <= 0
}

// Doubted returns how long it is until a proof can count: as a quick one that begins a lease, or as the
// second of two.
func (l *Lease) Doubted(now clock.Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.slow.Least(now), l.ripe.Least(now))
}

// Slow reports whether the last proof took so long that, with such, no touch is sure while the one ahead of it
// counts: a hold lasts as long as it happens to.
func (l *Lease) Slow() (took time.Duration, slow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastProof, l.isSlow()
}

func (l *Lease) isSlow() bool { return l.lastProof > part(l.timeout, slowPart) }

// Patience returns how long a proof may take until its server is given up, so that another can
// be found in what the lease has left; 0 if nothing is to be saved. A server that answers, if
// slowly, keeps the session better than the way to another one.
func (l *Lease) Patience(left time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := part(l.timeout, relayPart)
	if left == 0 {
		return limit
	}
	return min(limit, l.share(left))
}

// share returns how much of what a lease has left a proof may take.
func (l *Lease) share(left time.Duration) time.Duration {
	return max(left/2, min(2*l.lastProof, left))
}

// inTime reports whether a proof may take as long as the last one, and at least as long as usual, in a
// lease that has so much left when it is begun.
func (l *Lease) inTime(left time.Duration) bool {
	return l.share(left) > max(part(l.timeout, sparePart), l.lastProof)
}
