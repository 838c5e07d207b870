// Package lease says until when a server cannot have ended a session, and so until when its
// holds are sure to be its own. It reads no clock and asks no server. docs/design.md says why it
// is sound.
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Parts of the session timeout.
const (
	touchPart = 19.0 / 20 // how long a touch counts
	relayPart = 1.0 / 4   // at least half a tick
	latePart  = 1.0 / 32  // by how much a ping of the leader's may be late
	doubtPart = 1.0 / 16  // what a leader needs to catch up after a pause; proofs are twice as far apart
	quickPart = 1.0 / 256 // how much longer than a round trip a quick write may take
	sparePart = 1.0 / 20  // what a lease has to have for a proof, at least
	slowPart  = 1.0 / 12  // what a proof takes where no hold lasts
)

func part(of time.Duration, p float64) time.Duration { return time.Duration(float64(of) * p) }

// Lease is until when a ZooKeeper session is sure to live, and what that rests on. Whoever uses it
// may hold any other mutex.
type Lease struct {
	end atomic.Pointer[clock.Instant] // nil before the first proof; written under mu

	mu      sync.Mutex      // guards the fields below; nothing is locked under it
	timeout time.Duration   // the smallest that a server has granted
	unheard []clock.Instant // when connect requests were sent that may yet be carried out, see Asks
	proved  clock.Instant   // when the last proof was answered
	rests   clock.Instant   // when the touch was sent by which the lease ends at the latest
	connection
}

// Begin takes that there is another session, of that timeout, of which nothing is proved.
func (l *Lease) Begin(timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeout, l.unheard = timeout, nil
	l.end.Store(nil)
}

// Timeout returns the session timeout that the lease reckons with.
func (l *Lease) Timeout() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.timeout
}

// Granted takes the answer to a connect request that was sent at asked.
func (l *Lease) Granted(asked clock.Instant, timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.unheard); n > 0 {
		l.unheard = l.unheard[:n-1]
	}
	if timeout < l.timeout {
		l.timeout = timeout
		l.shorten(l.touchEnd(asked))
	}
}

// Proof is a committed write: when it was begun, and when the newest request was sent whose
// touch is ahead of it, unless there was a pause: Touched if the leader pings in time, Early also
// if it is late, by a clock that is slow or for whatever it has to do besides.
type Proof struct{ Begun, Touched, Early clock.Instant }

// Proof returns a proof that begins now.
func (l *Lease) Proof(now clock.Instant) Proof {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := relayedBy(now, l.timeout)
	return Proof{now, l.newest(by), l.newest(by.Add(-part(l.timeout, latePart)))}
}

// relayedBy returns the time by which a request must have been answered for its touch to be
// ahead of a write begun at proof, if the leader pings in time.
func relayedBy(proof clock.Instant, timeout time.Duration) clock.Instant {
	return proof.Add(-part(timeout, relayPart))
}

// Prove extends the lease by a proof that was answered now over the present connection.
func (l *Lease) Prove(p Proof, held bool, now clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prove(p, l.quickProof(p.Begun, now), held, now)
}

// prove is Prove. A proof that was quick behind others that were makes its own touches sure; that is
// needed to begin a lease only.
func (l *Lease) prove(p Proof, quick, held bool, now clock.Instant) {
	l.restOn(p.Begun, l.makeSure(p, now), now)
	if quick && !held && l.Left(now) < part(l.timeout, relayPart) {
		l.restOn(p.Begun, p.Early, now)
	}
	l.proved = now
}

// restOn extends the lease by a proof that was begun then, and by the touch that is ahead of it.
func (l *Lease) restOn(begun, touch, now clock.Instant) {
	end := l.touchEnd(touch)
	if l.isUnheard(now) {
		end = clock.Earlier(end, unheardEnd(begun, l.timeout))
	}
	if old := l.end.Load(); old == nil || now.Most(end) < now.Most(*old) {
		l.end.Store(&end)
	}
	if now.Most(touch) < now.Most(l.rests) {
		l.rests = touch
	}
}

// touchEnd returns until when a session is safe whose countdown began at touch, or later.
func (l *Lease) touchEnd(touch clock.Instant) clock.Instant {
	return touch.Add(part(l.timeout, touchPart))
}

// shorten takes back what was promised beyond end, by either clock.
func (l *Lease) shorten(end clock.Instant) {
	if old := l.end.Load(); old != nil {
		end = clock.Earlier(*old, end)
		l.end.Store(&end)
	}
}

// NextProof returns how long it is until the next proof, or until that is to be asked again: the
// machine may sleep meanwhile. While the lease is short, as it is after a quiet time, that is begun as
// soon as it can make a touch sure.
func (l *Lease) NextProof(now clock.Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := l.interval(now) - now.Most(l.proved)
	if l.Left(now)-pause < part(l.timeout, relayPart) {
		pause = min(pause, l.ripe.Least(now))
	}
	return min(pause, l.look(now))
}

// Interval returns the time from proof to proof, half of the usual while less may have been
// granted than is known.
func (l *Lease) Interval(now clock.Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.interval(now)
}

func (l *Lease) interval(now clock.Instant) time.Duration {
	if l.isUnheard(now) {
		return part(l.timeout, doubtPart)
	}
	return part(l.timeout, 2*doubtPart)
}

// NextLook returns how long it is until the clocks are to be looked at while something is held: when
// the lease ends, and soon in any case, since timers stand still while the machine sleeps.
func (l *Lease) NextLook(now clock.Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.Left(now), l.look(now))
}

// look is half of what the session has beyond the lease.
func (l *Lease) look(now clock.Instant) time.Duration {
	beyond := l.timeout - part(l.timeout, touchPart)
	if l.isUnheard(now) { // the session may be as short
		beyond = part(beyond, leastGrant)
	}
	return beyond / 2
}

// Sure returns for how long the lease runs on whatever comes: a connect request may be sent right now, and
// its answer never be heard. See Asks.
func (l *Lease) Sure(now clock.Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.Left(now), part(l.timeout, leastGrant*touchPart))
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
