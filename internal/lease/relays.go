package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Relays tells which touch of a connection is sure to have reached the leader. A proof alone
// does not: a leader that was paused finds the proof in its buffers before it asks for the
// touches of that time. Another one does, that was begun when the leader, which the first has
// found running, has had time to catch up: if there was a pause between the two, the first
// one's touches were relayed before.
type Relays struct {
	sure clock.Instant // when a request was sent whose touch has reached the leader
	next clock.Instant // the same, once a proof is committed that was begun when ripe
	ripe clock.Instant
}

// NewRelays begins with the connect request, which touches the leader itself.
func NewRelays(connected clock.Instant) Relays { return Relays{sure: connected, next: connected} }

// Ripe returns how long it is until a proof can make sure of the touches of the last one.
func (r *Relays) Ripe(now clock.Instant) time.Duration { return r.ripe.Least(now) }

// proved takes a proof, with the touch that is ahead of it unless there was a pause. It returns
// the one that is sure, and whether the proof was the second of two in this: not much later than
// it could be, so that what the first one has made likely is of use.
func (r *Relays) proved(p Proof, answered clock.Instant, timeout time.Duration) (sure clock.Instant, second bool) {
	if p.Begun.Least(r.ripe) >= 0 {
		second = answered.Most(r.ripe) < part(timeout, relayPart)
		r.sure, r.next = r.next, p.Touched
		r.ripe = answered.Add(part(timeout, doubtPart))
	}
	return r.sure, second
}
