package wire

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
)

// RoundTrip returns how long the fastest answer has taken.
func (l *Link) RoundTrip() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.speed.RoundTrip()
}

// Proved notes a proof, and reports whether it was quick, in a session of that timeout.
func (l *Link) Proved(begun, answered clock.Instant, timeout time.Duration) (quick bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.speed.Proved(begun, answered, timeout)
}

// Doubted returns how long it is until a proof may count as quick.
func (l *Link) Doubted(now clock.Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.speed.Doubted(now)
}

// Lasts reports whether a lease goes on as long as the server answers.
func (l *Link) Lasts(of *lease.Lease, now clock.Instant, relay *lease.Relays, in lease.Terms) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return of.Lasts(now, &l.touches, relay, &l.speed, in)
}

// BeginProof returns a proof that begins now, in a session of that timeout.
func (l *Link) BeginProof(timeout time.Duration) lease.Proof {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.touches.Proof(l.dialer.Clock.Now(), timeout)
}

// Patience returns how long a proof may take until its server is given up.
func (l *Link) Patience(timeout, left time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.speed.Patience(timeout, left)
}
