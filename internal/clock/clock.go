// Package clock reads the two clocks of a machine. The monotonic one stops while
// the machine sleeps, and the wall clock may be set: neither alone tells how much
// time has passed.
package clock

import (
	"context"
	"sync"
	"time"
)

// Instant is a moment by both clocks, the wall clock as it would be if nobody had
// set it back. The zero Instant is before any other.
type Instant struct{ monotonic, wall time.Time }

// Add returns the moment that is d later by both clocks.
func (t Instant) Add(d time.Duration) Instant {
	return Instant{t.monotonic.Add(d), t.wall.Add(d)}
}

// IsZero reports whether t is no moment at all.
func (t Instant) IsZero() bool { return t.monotonic.IsZero() }

// Least returns how much time has surely passed since earlier: what the monotonic
// clock says, which nobody sets.
func (t Instant) Least(earlier Instant) time.Duration { return t.monotonic.Sub(earlier.monotonic) }

// Most returns how much time may have passed since earlier: what the clock says
// that says more.
func (t Instant) Most(earlier Instant) time.Duration {
	return max(t.Least(earlier), t.wall.Sub(earlier.wall))
}

// Earlier returns the earlier of two moments by each clock.
func Earlier(t, u Instant) Instant {
	if u.monotonic.Before(t.monotonic) {
		t.monotonic = u.monotonic
	}
	if u.wall.Before(t.wall) {
		t.wall = u.wall
	}
	return t
}

// Clock is a machine's pair of clocks. The zero Clock is the one that the program
// runs on.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration // what the wall clock was set by
	first time.Time     // reading
	lead  time.Duration // that the wall clock has gained on the monotonic one since then
	slept time.Duration // what the lead has grown by in all, whatever it has lost again
}

// jitter is how far the two readings of a moment may be apart, each of which takes
// its time.
const jitter = time.Millisecond

// Now reads both clocks. A wall clock that is set back does not make up for a sleep
// of the machine, before or after, unless both are between two readings.
func (c *Clock) Now() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.first.IsZero() {
		c.first = now
	}
	lead := now.Round(0).Add(c.ahead).Sub(c.first.Round(0)) - now.Sub(c.first)
	switch {
	case lead > c.lead:
		c.slept += lead - c.lead
		c.lead = lead
	case lead < c.lead-jitter:
		c.lead = lead
	}
	return Instant{now, now.Add(c.slept)}
}

// Step sets the wall clock by d, in tests: forward, as it is after a sleep of the
// machine, or back.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
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
