package zklock

import (
	"sync/atomic"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// The lease says until when the server cannot have ended the session, and so
// until when its holds are sure to be its own. It rests on two facts.
//
// A committed write sent at t0 proves that the leader had the session open at
// some moment after t0. It does not restart the leader's countdown: that begins
// anew when the server of the connection relays a touch, up to half a tick after
// the request that caused it. A request that was answered half a tick before t0
// has had its touch relayed ahead of the write, on the same stream, and so the
// countdown began when that request was sent, or later.
//
// Assumed: a tick is at most half the session timeout (the server's own limit
// unless minSessionTimeout lowers it), the leader pings its followers every half
// tick, and clocks drift by less than 1 %.
const (
	proofPart    = 3.0 / 5   // of the timeout: how long a proof counts from its start
	touchPart    = 19.0 / 20 // of the timeout: how long a touch counts
	relayPart    = 1.0 / 4   // of the timeout: at least half a tick
	intervalPart = 1.0 / 8   // of the timeout: from proof to proof
	quickPart    = 1.0 / 256 // of the timeout: how far a quick write may be above the usual
	grainPart    = 1.0 / 64  // of the timeout: between touches that are kept
	doubtPart    = 1.0 / 16  // of the timeout: what a leader needs to catch up after a pause
	lookPart     = 1.0 / 32  // of the timeout: between looks at the clocks while something is held
)

func part(of time.Duration, p float64) time.Duration { return time.Duration(float64(of) * p) }

// leaseEnd returns until when a session of that timeout is safe, by a write that
// was begun at proof and has been committed since, and by a request sent at touch
// that had been answered by relayedBy(proof, timeout).
func leaseEnd(proof, touch clock.Instant, timeout time.Duration) clock.Instant {
	byProof, byTouch := proof.Add(part(timeout, proofPart)), touch.Add(part(timeout, touchPart))
	return clock.Earlier(byProof, byTouch)
}

// relayedBy returns the time by which a request must have been answered for its
// touch to be ahead of a write begun at proof.
func relayedBy(proof clock.Instant, timeout time.Duration) clock.Instant {
	return proof.Add(-part(timeout, relayPart))
}

// lease is the end of an epoch's lease. The session's mu guards its changes.
type lease struct{ end atomic.Pointer[clock.Instant] }

// extend makes the lease last until end, if that is later as seen from now.
func (l *lease) extend(end, now clock.Instant) {
	if old := l.end.Load(); old == nil || now.Most(end) < now.Most(*old) {
		l.end.Store(&end)
	}
}

// shorten takes back what was promised beyond end, by either clock.
func (l *lease) shorten(end clock.Instant) {
	if old := l.end.Load(); old != nil {
		end = clock.Earlier(*old, end)
		l.end.Store(&end)
	}
}

// runsAt tells whether the lease still runs at now, by the monotonic clock, which
// stops while the machine sleeps, and by the wall clock.
func (l *lease) runsAt(now clock.Instant) bool { return l.left(now) > 0 }

// left returns for how long the lease runs on, by the clock that says less.
func (l *lease) left(now clock.Instant) time.Duration {
	end := l.end.Load()
	if end == nil {
		return 0
	}
	return -now.Most(*end)
}

// touches remembers when the requests of one connection were sent, for as long as
// it takes until they count.
type touches struct {
	timeout time.Duration // of the session, as the connection's server said
	settled clock.Instant // when the newest that counts was sent
	recent  []touch       // by the time of their answers
}

type touch struct{ sent, answered clock.Instant }

// add notes a request. Those that follow each other closely are not all kept: an
// older touch only makes the lease shorter.
func (t *touches) add(sent, answered clock.Instant) {
	t.newest(relayedBy(answered, t.timeout)) // what counts by now for any later proof
	if n := len(t.recent); n > 0 && sent.Least(t.recent[n-1].sent) < part(t.timeout, grainPart) {
		return
	}
	t.recent = append(t.recent, touch{sent, answered})
}

// newest returns when the newest request that was answered by that time was sent.
// Calls come in the order of their times.
func (t *touches) newest(by clock.Instant) clock.Instant {
	counted := 0
	for _, r := range t.recent {
		if r.answered.Least(by) > 0 {
			break
		}
		if r.sent.Least(t.settled) > 0 {
			t.settled = r.sent
		}
		counted++
	}
	t.recent = t.recent[counted:]
	return t.settled
}

// relay tells which touch of a connection is sure to have reached the leader. A
// proof alone does not: a leader that was paused finds the proof in its buffers
// before it asks for the touches of that time. Another one does, that was begun
// when the leader, which the first has found running, has had time to catch up: if
// there was a pause between the two, the first one's touches were relayed before.
// The session's mu guards it.
type relay struct {
	sure clock.Instant // when a request was sent whose touch has reached the leader
	next clock.Instant // the same, once a proof is committed that was begun when ripe
	ripe clock.Instant
}

// proved takes a proof, with the touch that is ahead of it unless there was a
// pause, and returns the one that is sure.
func (r *relay) proved(p proof, answered clock.Instant, timeout time.Duration) (sure clock.Instant) {
	if p.begun.Least(r.ripe) >= 0 {
		r.sure, r.next = r.next, p.touched
		r.ripe = answered.Add(part(timeout, doubtPart))
	}
	return r.sure
}

// follows tells whether a proof comes so shortly after another that the leader was not
// paused meanwhile.
func (r *relay) follows(p proof, answered clock.Instant, timeout time.Duration) bool {
	return p.begun.Least(r.ripe) >= 0 && answered.Most(r.ripe) < part(timeout, relayPart)
}

// doubts tells whether a proof that would begin a lease by itself may be worth
// nothing. A leader that goes on after a pause also ends the sessions that seem
// overdue, and may commit a write just before that. So a write that was not quick
// has to be followed by another, begun when the leader has had time to catch up;
// that one may be slow. The session's mu is held.
func (ep *epoch) doubts(begun, answered clock.Instant, quick bool, timeout time.Duration) bool {
	switch {
	case begun.Least(ep.doubted) < 0:
		return true
	case quick, answered.Most(ep.doubted) < part(timeout, relayPart):
		return false
	}
	ep.doubted = answered.Add(part(timeout, doubtPart))
	return true
}
