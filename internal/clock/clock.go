// Package clock reads the two clocks of a machine. The monotonic one stops while
// the machine sleeps, and the wall clock may be set: neither alone tells how much
// time has passed.
package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Instant is a moment by both clocks of one Clock, the wall clock as it would be if
// nobody had set it back. The zero Instant is before any other.
type Instant struct{ monotonic, wall time.Duration } // from one time on: see beginning

// beginning is when a Clock is read first: so far behind the zero Instant that no
// time that is reckoned with leads across that, or beyond what a Duration holds.
const beginning time.Duration = 1 << 61 // 73 years

// Add returns the moment that is d later by both clocks.
func (t Instant) Add(d time.Duration) Instant { return Instant{t.monotonic + d, t.wall + d} }

// IsZero reports whether t is no moment at all.
func (t Instant) IsZero() bool { return t == Instant{} }

// Least returns how much time has surely passed since earlier: what the monotonic
// clock says, which nobody sets.
func (t Instant) Least(earlier Instant) time.Duration { return t.monotonic - earlier.monotonic }

// Most returns how much time may have passed since earlier: what the clock says
// that says more.
func (t Instant) Most(earlier Instant) time.Duration {
	return max(t.monotonic-earlier.monotonic, t.wall-earlier.wall)
}

// Earlier returns the earlier of two moments by each clock.
func Earlier(t, u Instant) Instant {
	return Instant{min(t.monotonic, u.monotonic), min(t.wall, u.wall)}
}

// Clock is a machine's pair of clocks. The zero Clock is the one that the program
// runs on.
type Clock struct {
	mu    sync.Mutex // guards the replacement of known; nothing is locked under it
	known atomic.Pointer[known]
}

// known is what the readings of a Clock have shown so far.
type known struct {
	first time.Time     // reading
	wall  int64         // of the first reading, in nanoseconds
	ahead time.Duration // what the wall clock was set by in tests
	stall time.Duration // for how long the process was stopped in tests
	lead  time.Duration // that the wall clock has gained on the monotonic one since the first reading
	slept time.Duration // what the lead has grown by in all, whatever it has lost again
}

// jitter is how far the two readings of a moment may be apart, each of which takes
// its time.
const jitter = time.Millisecond

// Now reads both clocks. A wall clock that is set back does not make up for a sleep
// of the machine, before or after, unless both are between two readings.
func (c *Clock) Now() Instant {
	if k := c.known.Load(); k != nil {
		passed, lead := k.read()
		// Most readings show nothing else. One that another has come ahead of is repeated.
		if lead <= k.lead && lead >= k.lead-jitter && c.known.Load() == k {
			return k.instant(passed)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.whatIsKnown()
	passed, lead := k.read()
	k.slept += max(lead-k.lead, 0)
	if lead > k.lead || lead < k.lead-jitter {
		k.lead = lead
	}
	c.known.Store(&k)
	return k.instant(passed)
}

// read returns how much time has passed since the first reading, by the monotonic
// clock, and by how much more the wall clock is ahead.
func (k *known) read() (passed, lead time.Duration) {
	now := time.Now()
	passed = now.Sub(k.first)
	return passed + k.stall, time.Duration(now.UnixNano()-k.wall) + k.ahead - passed
}

func (k *known) instant(passed time.Duration) Instant {
	monotonic := beginning + passed
	return Instant{monotonic, monotonic + k.slept}
}

// whatIsKnown returns a copy of what is known, or what a first reading shows. c.mu is
// held.
func (c *Clock) whatIsKnown() known {
	if k := c.known.Load(); k != nil {
		return *k
	}
	now := time.Now()
	return known{first: now, wall: now.UnixNano()}
}

// Step sets the wall clock by d, in tests: forward, as it is after a sleep of the
// machine, or back.
func (c *Clock) Step(d time.Duration) { c.change(func(k *known) { k.ahead += d }) }

// Stall sets both clocks forward by d, in tests, as they are after a stop of the process.
func (c *Clock) Stall(d time.Duration) { c.change(func(k *known) { k.stall += d }) }

func (c *Clock) change(by func(*known)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.whatIsKnown()
	by(&k)
	c.known.Store(&k)
}

type key struct{}

// With returns a context whose sessions read c.
func With(ctx context.Context, c *Clock) context.Context { return context.WithValue(ctx, key{}, c) }

// Of returns the clock of ctx's sessions.
func Of(ctx context.Context) *Clock {
	if c, ok := ctx.Value(key{}).(*Clock); ok {
		return c
	}
	return new(Clock)
}
