package sim

import (
	"context"
	"errors"
	"time"

	"github.com/zklock/zklock"
)

// call is one call of the library under way, and the judge of its result.
type call struct {
	*visit
	take  Take // -1: gives back
	ctx   context.Context
	limit time.Duration
	since time.Time
}

// begin makes a ctx that ends after limit (0: never, negative: at once) and
// notes the call.
func (v *visit) begin(take Take, limit time.Duration, cancelled bool) (context.Context, *call, func()) {
	ctx, cancel := context.WithCancel(v.world.ctx)
	end := cancel
	switch {
	case limit < 0:
		cancel()
	case limit > 0 && cancelled:
		timer := time.AfterFunc(limit, cancel)
		end = func() { timer.Stop(); cancel() }
	case limit > 0:
		cancel()
		ctx, end = context.WithTimeout(v.world.ctx, limit)
	}
	c := &call{visit: v, take: take, ctx: ctx, limit: limit, since: time.Now()}
	if take >= 0 {
		v.world.stats.Calls[take].Add(1)
		v.note("%v %s, ctx %v", take, v.path, limit)
	} else {
		v.note("gives %s back, ctx %v", v.path, limit)
	}
	return ctx, c, end
}

func (c *call) name() string {
	if c.take < 0 {
		return "release"
	}
	return c.take.String()
}

// took judges how an attempt to take the lock ended.
func (c *call) took(success bool, err error) {
	if c.world.ctx.Err() != nil {
		return
	}
	elapsed := time.Since(c.since)
	if success {
		c.note("%s succeeded after %v", c.name(), elapsed)
		if c.limit < 0 || c.limit > 0 && elapsed > c.limit {
			c.broke("P5", "succeeded %v after its ctx had ended", elapsed-c.limit)
		}
		return
	}
	c.note("%s failed after %v: %v", c.name(), elapsed, err)
	c.punctual(elapsed)
	switch {
	case err == nil, c.excused(err):
	case c.outer != nil && errors.Is(err, zklock.ErrLost) && c.outer.lost():
	case c.take == TryAcquire && errors.Is(err, zklock.ErrLocked):
	default:
		c.broke("P7", "failed without a reason: %v", err)
	}
}

// gave judges how giving the lock back ended.
func (c *call) gave(err error) {
	if c.world.ctx.Err() != nil {
		return
	}
	elapsed := time.Since(c.since)
	c.note("%s returned %v after %v", c.name(), err, elapsed)
	if c.take < 0 {
		c.punctual(elapsed)
	}
	switch {
	case err == nil, c.excused(err), errors.Is(err, zklock.ErrLost):
	default:
		c.broke("P7", "cannot give the lock back: %v", err)
	}
}

// excused tells whether err is the end of the call's ctx or of its session.
func (c *call) excused(err error) bool {
	return c.limit != 0 && c.ctx.Err() != nil && errors.Is(err, c.ctx.Err()) ||
		c.inc.closing.Load() && (errors.Is(err, zklock.ErrClosed) || errors.Is(err, zklock.ErrReleased))
}

// punctual judges how long the call took.
func (c *call) punctual(elapsed time.Duration) {
	if c.limit != 0 && late(elapsed, c.limit) {
		c.broke("P5", "returned %v after its ctx had ended", elapsed-c.limit)
	}
	if c.take == TryLock && late(elapsed, c.machine.spec.Timeout/3) {
		c.broke("P5", "took %v of a session timeout of %v", elapsed, c.machine.spec.Timeout)
	}
}

func (c *call) broke(promise, format string, args ...any) {
	c.world.referee.fail(promise, "%s of %s by %s "+format, append([]any{c.name(), c.path, c.visit.name}, args...)...)
}

// note writes what the actor does into the timeline.
func (v *visit) note(format string, args ...any) { v.world.log.note(v.actor.name, format, args...) }

// late tells whether a call overran the end of its ctx.
func late(elapsed, limit time.Duration) bool { return elapsed > max(limit, 0)+50*time.Millisecond }
