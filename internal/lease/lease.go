// Package lease says until when a server cannot have ended a session, and so until when its
// holds are sure to be its own. It is arithmetic: it reads no clock, asks no server and has no
// mutex. docs/design.md says why it is sound.
//
// It rests on two facts.
//
// A committed write sent at t0 proves that the leader had the session open at some moment after
// t0. It does not restart the leader's countdown: that begins anew when the server of the
// connection relays a touch, up to half a tick after the request that caused it. A request that
// was answered half a tick before t0 has had its touch relayed ahead of the write, on the same
// stream, and so the countdown began when that request was sent, or later.
//
// Assumed: a tick is at most half the session timeout (the server's own limit unless
// minSessionTimeout lowers it), the leader pings its followers every half tick as it counts, and
// clocks drift from each other by less than 1 %.
package lease

import (
	"sync/atomic"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Parts of the session timeout.
const (
	proofPart    = 3.0 / 5   // how long a proof counts from its start
	touchPart    = 19.0 / 20 // how long a touch counts
	relayPart    = 1.0 / 4   // at least half a tick
	latePart     = 1.0 / 32  // by how much a ping of the leader's may be late
	intervalPart = 1.0 / 8   // from proof to proof
	sparePart    = 1.0 / 10  // what a lease has to have left for a proof, which may take half of it
	quickPart    = 1.0 / 256 // how much longer than a round trip a quick write may take
	twicePart    = 1.0 / 6   // the longest round trip of which two, and doubtPart, leave a lease of use
	longPart     = 1.0 / 12  // what a proof may take where a hold is to last
	grainPart    = 1.0 / 64  // between touches that are kept
	doubtPart    = 1.0 / 16  // what a leader needs to catch up after a pause
	lookPart     = 1.0 / 32  // between looks at the clocks while something is held
	tooLatePart  = 1.0 / 64  // what a lease has left when no server is in time any more
)

func part(of time.Duration, p float64) time.Duration { return time.Duration(float64(of) * p) }

// TooLate returns how much a lease has left when no server is in time any more.
func TooLate(timeout time.Duration) time.Duration { return part(timeout, tooLatePart) }

// End returns until when a session of that timeout is safe, by a write that was begun at proof
// and has been committed since, and by a request sent at touch that had been answered by
// RelayedBy(proof, timeout).
func End(proof, touch clock.Instant, timeout time.Duration) clock.Instant {
	byProof, byTouch := proof.Add(part(timeout, proofPart)), touch.Add(part(timeout, touchPart))
	return clock.Earlier(byProof, byTouch)
}

// GrantedEnd returns until when a session is safe by the answer to a connect request that was
// sent at connected, and that has granted that timeout.
func GrantedEnd(connected clock.Instant, timeout time.Duration) clock.Instant {
	return connected.Add(part(timeout, touchPart))
}

// RelayedBy returns the time by which a request must have been answered for its touch to be
// ahead of a write begun at proof, if the leader pings in time.
func RelayedBy(proof clock.Instant, timeout time.Duration) clock.Instant {
	return proof.Add(-part(timeout, relayPart))
}

// Lease is until when one incarnation of a session is sure to live. Its end may be read at any
// time; everything else is for one goroutine at a time.
type Lease struct {
	end    atomic.Pointer[clock.Instant]
	rests  clock.Instant // when the touch was sent by which it ends at the latest
	proved clock.Instant // when the last proof was answered
	best   bool          // another one right behind that could do no more
}

// Terms are what the end of a lease depends on beside the proofs.
type Terms struct {
	Timeout time.Duration // the smallest that a server has granted
	Held    bool          // something is held, or about to be
	Unheard bool          // a connect request without an answer may yet be carried out
}

// Proof is a committed write: when it was begun, and when the newest request was sent whose
// touch is ahead of it, unless there was a pause: Touched if the leader pings in time, Early also
// if it is late, by a clock that is slow or for whatever it has to do besides.
type Proof struct{ Begun, Touched, Early clock.Instant }

// Prove extends the lease by a proof that was answered now over a connection of which relay
// knows. One that was quick behind others that were makes its own touches sure; that is needed
// to begin a lease only.
func (l *Lease) Prove(p Proof, quick bool, now clock.Instant, relay *Relays, in Terms) {
	sure, second := relay.proved(p, now, in.Timeout)
	l.restOn(p.Begun, sure, now, in)
	if quick && !in.Held && l.Left(now) < part(in.Timeout, relayPart) {
		l.restOn(p.Begun, p.Early, now, in)
	}
	l.proved, l.best = now, quick || second
}

// restOn extends the lease by a proof that was begun then, and by the touch that is ahead of it.
func (l *Lease) restOn(begun, touch, now clock.Instant, in Terms) {
	l.Extend(in.safeUntil(begun, touch), now)
	if now.Most(touch) < now.Most(l.rests) {
		l.rests = touch
	}
}

// safeUntil returns until when a session is safe by a proof that was begun then, and by the
// touch that is ahead of it.
func (in Terms) safeUntil(begun, touch clock.Instant) clock.Instant {
	end := End(begun, touch, in.Timeout)
	if in.Unheard {
		end = clock.Earlier(end, UnheardEnd(begun, in.Timeout))
	}
	return end
}

// NextProof returns how long it is until the next proof. While the lease is short, as it is
// after a quiet time, that is begun as soon as it can make a touch sure. The relay is that of
// the connection, nil if there is none.
func (l *Lease) NextProof(now clock.Instant, relay *Relays, in Terms) time.Duration {
	pause := in.Interval() - now.Most(l.proved)
	if relay != nil && l.Left(now)-pause < part(in.Timeout, relayPart) {
		pause = min(pause, relay.ripe.Least(now))
	}
	return pause
}

// Spares reports whether the lease runs until the next proof, and leaves time for that; as far as it
// rests on a touch, which the proofs need longer to make up for, also if they are no closer than usual.
func (l *Lease) Spares(now clock.Instant, in Terms) bool {
	spare, usual := part(in.Timeout, sparePart), part(in.Timeout, intervalPart)
	byTouch := worth(l.rests, now, in.Timeout)
	return l.Left(now)-in.Interval() > spare && byTouch-usual > spare
}

// Lasts reports whether the lease goes on as long as servers answer the proofs: it leaves time for
// the next one, and that and those behind it make it longer in time. Over a connection that is too
// slow for that it has to last until the next proof, which follows in doubtPart then, and the last
// one, which was made just now, was the best that is to be had.
func (l *Lease) Lasts(now clock.Instant, t *Touches, relay *Relays, s *Speed, in Terms) bool {
	best := l.best && now.Most(l.proved) < in.Interval() && l.Left(now) > part(in.Timeout, doubtPart)
	enough := l.Spares(now, in) || best && s.lastProof > in.long()
	return enough && (s.lastProof > part(in.Timeout, longPart) || t.carry(l.rests, relay, s, now, in.Timeout))
}

// long returns what a proof may take where a lease is to spare time for it.
func (in Terms) long() time.Duration {
	if in.Unheard { // or no lease is ever so long as Spares asks for
		return part(in.Timeout, longPart*3/4)
	}
	return part(in.Timeout, longPart)
}

// Interval returns the time from proof to proof, half of the usual while less may have been
// granted than is known.
func (in Terms) Interval() time.Duration {
	if in.Unheard {
		return part(in.Timeout, intervalPart/2)
	}
	return part(in.Timeout, intervalPart)
}

// Look returns how often the clocks are to be looked at while something is held: timers stand
// still while the machine sleeps.
func (in Terms) Look() time.Duration {
	if in.Unheard { // the session may be as short, and what it has beyond the lease
		return part(in.Timeout, lookPart*leastGrant)
	}
	return part(in.Timeout, lookPart)
}

// Extend makes the lease last until end, if that is later as seen from now.
func (l *Lease) Extend(end, now clock.Instant) {
	if old := l.end.Load(); old == nil || now.Most(end) < now.Most(*old) {
		l.end.Store(&end)
	}
}

// Shorten takes back what was promised beyond end, by either clock.
func (l *Lease) Shorten(end clock.Instant) {
	if old := l.end.Load(); old != nil {
		end = clock.Earlier(*old, end)
		l.end.Store(&end)
	}
}

// RunsAt reports whether the lease still runs at now, by the monotonic clock, which stops while
// the machine sleeps, and by the wall clock.
func (l *Lease) RunsAt(now clock.Instant) bool { return l.Left(now) > 0 }

// Left returns for how long the lease runs on, by the clock that says less.
func (l *Lease) Left(now clock.Instant) time.Duration {
	end := l.end.Load()
	if end == nil {
		return 0
	}
	return -now.Most(*end)
}
