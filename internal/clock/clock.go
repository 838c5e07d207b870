// Package clock reads the two clocks of a machine. The monotonic one stops while
// the machine sleeps, and the wall clock may be set: neither alone tells how much
// time has passed.
package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Instant is a moment by both clocks. The zero Instant is before any other.
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
type Clock struct{ ahead atomic.Int64 }

// Now reads both clocks.
func (c *Clock) Now() Instant {
	now := time.Now()
	return Instant{now, now.Round(0).Add(time.Duration(c.ahead.Load()))}
}

// Step sets the wall clock by d, in tests: forward, as it is after a sleep of the
// machine, or back.
func (c *Clock) Step(d time.Duration) { c.ahead.Add(int64(d)) }

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
