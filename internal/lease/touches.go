package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Touches remembers when the requests of one connection were sent, for as long as it takes
// until they count.
type Touches struct {
	timeout time.Duration // of the session, as the connection's server said
	settled clock.Instant // when the newest that counts was sent
	recent  []touch       // by the time of their answers
}

type touch struct{ sent, answered clock.Instant }

// NewTouches begins with the connect request, which touches the leader itself.
func NewTouches(connected clock.Instant, timeout time.Duration) Touches {
	return Touches{settled: connected, timeout: timeout}
}

// Proof returns a proof that begins now, in a session of that timeout.
func (t *Touches) Proof(now clock.Instant, timeout time.Duration) Proof {
	return Proof{Begun: now, Touched: t.newest(RelayedBy(now, timeout)), Early: t.newest(earlyBy(now, timeout))}
}

// earlyBy is RelayedBy for a leader that may be late.
func earlyBy(proof clock.Instant, timeout time.Duration) clock.Instant {
	return RelayedBy(proof, timeout).Add(-part(timeout, latePart))
}

// Add notes a request. Those that follow each other closely are not all kept: an older touch
// only makes the lease shorter.
func (t *Touches) Add(sent, answered clock.Instant) {
	t.settle(earlyBy(answered, t.timeout)) // what counts by now for any later proof
	if n := len(t.recent); n > 0 && sent.Least(t.recent[n-1].sent) < part(t.timeout, grainPart) {
		return
	}
	t.recent = append(t.recent, touch{sent, answered})
}

// carry reports whether proofs that servers answer in time make a lease longer before it ends that
// rests on a touch sent then. Each touch has to be sure while the one ahead of it still counts, as
// long ahead of that end as a server may take that is waited for (see Patience): after a gap in
// which no request was answered, that of the machine's sleep too, it may be too late.
func (t *Touches) carry(rests clock.Instant, relay *Relays, s *Speed, now clock.Instant, timeout time.Duration) bool {
	left, proof := worth(rests, now, timeout), max(part(timeout, sparePart/2), s.lastProof)
	inTime := func(sent clock.Instant, sure time.Duration) bool {
		more := worth(sent, now, timeout)
		if more <= left {
			return true
		}
		ok := sure+max(part(timeout, sparePart), s.lastProof) < left
		left = more
		return ok
	}
	ripe, step := max(relay.Ripe(now), 0), part(timeout, doubtPart)+proof // to the next proof, and to each that follows
	if !inTime(relay.next, ripe) || !inTime(t.settled, ripe+step) {
		return false
	}
	for _, r := range t.recent {
		found := max(r.answered.Add(part(timeout, relayPart)).Least(now)-ripe, 0) // answered for long enough
		if found > 0 {
			found += step // the proof before is begun a little too early
		}
		if !inTime(r.sent, ripe+found+step) {
			return false
		}
	}
	return true
}

// worth returns for how long a touch counts from now on that was sent then.
func worth(sent, now clock.Instant, timeout time.Duration) time.Duration {
	return -now.Most(sent.Add(part(timeout, touchPart)))
}

// newest returns when the newest request that was answered by that time was sent.
func (t *Touches) newest(by clock.Instant) clock.Instant {
	sent, _ := t.answered(by)
	return sent
}

// settle forgets the requests that were answered by that time, but for the newest.
func (t *Touches) settle(by clock.Instant) {
	sent, n := t.answered(by)
	t.settled, t.recent = sent, t.recent[n:]
}

// answered returns when the newest request that was answered by that time was sent, and how many
// of the recent ones were.
func (t *Touches) answered(by clock.Instant) (sent clock.Instant, n int) {
	sent = t.settled
	for _, r := range t.recent {
		if r.answered.Least(by) > 0 {
			break
		}
		if r.sent.Least(sent) > 0 {
			sent = r.sent
		}
		n++
	}
	return sent, n
}
