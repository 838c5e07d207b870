package sim

import (
	"errors"
	"time"

	"github.com/zklock/zklock"
)

// took judges how an attempt to take the lock ended.
func (c *call) took(success bool, err error) {
	if c.world.ctx.Err() != nil {
		return
	}
	elapsed := time.Since(c.since)
	if success {
		c.note("%s succeeded after %v", c.what, elapsed)
		if c.limit < 0 || c.limit > 0 && elapsed > c.limit {
			c.broke("P5", "succeeded %v after its ctx had ended", elapsed-c.limit)
		}
		if c.upgrades() {
			c.broke("P1", "succeeded for a reader")
		}
		return
	}
	c.note("%s failed after %v: %v", c.what, elapsed, err)
	c.punctual(elapsed)
	switch {
	case err == nil, c.section.Take == TryAcquire && errors.Is(err, zklock.ErrLocked):
		c.refused(elapsed)
	case c.excused(err):
	case c.section.Panics != Nowhere && errors.Is(err, errPanic):
	case errors.Is(err, zklock.ErrLost) && c.world.referee.ended(c.outer):
	case c.upgrades() && errors.Is(err, zklock.ErrUpgrade):
	default:
		c.broke("P7", "failed without a reason: %v", err)
	}
}

// refused judges a try that came to nothing because the lock was not to be had.
func (c *call) refused(elapsed time.Duration) {
	referee := c.world.referee
	switch s := c.section; {
	case c.inc.closing.Load():
	case c.reenters():
		if !referee.ended(c.outer) {
			c.broke("P7", "failed for the lock's owner")
		}
	case s.For > 0:
		if elapsed < s.For {
			c.broke("P7", "gave up after %v of %v", elapsed, s.For)
		}
	case s.Take == TryLock && elapsed >= c.machine.spec.Timeout/3, c.upgrades():
	case c.lock.permits != nil, c.lock.spec.shares(): // ... whose owners stand in line without a node
	case referee.isCalm() && !referee.contended(c.lock, c.since):
		c.broke("P7", "failed before any fault, and nobody was there")
	}
}

// reenters tells whether the lock's owner takes it once more.
func (c *call) reenters() bool {
	for own := c.outer; own != nil; own = own.beside {
		if own.read == c.section.Read {
			return true
		}
	}
	return false
}

// upgrades tells whether a reader asks for the write lock.
func (c *call) upgrades() bool {
	return c.outer != nil && c.outer.read && !c.section.Read && c.outer.beside == nil
}

// gave judges how giving the lock back ended.
func (c *call) gave(err error) {
	if c.world.ctx.Err() != nil {
		return
	}
	elapsed := time.Since(c.since)
	c.note("%s returned %v after %v", c.what, err, elapsed)
	if c.section == nil {
		c.punctual(elapsed)
	}
	switch {
	case c.excused(err):
	case err == nil && c.waits:
		c.confirmed()
	case err == nil:
	case errors.Is(err, zklock.ErrLost) && c.claim.isLost():
	default:
		c.broke("P7", "cannot give the lock back: %v", err)
	}
}

// confirmed judges the nil of a call that waits for ZooKeeper's confirmation.
func (c *call) confirmed() {
	if c.lost {
		c.broke("P7", "returned nil for a lock that was lost")
	}
	if c.ctx.Err() != nil || c.inc.closing.Load() {
		return
	}
	for _, part := range c.claim.parts() {
		shared := c.lock.spec.shares() && part.token == 0
		if !shared && c.world.referee.keeps(part) {
			c.broke("P4", "returned nil, and %s is there", base(part.node))
		}
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
	if c.section == nil {
		return
	}
	if c.section.Take == TryLock && late(elapsed, c.machine.spec.Timeout/3) {
		c.broke("P5", "took %v of a session timeout of %v", elapsed, c.machine.spec.Timeout)
	}
	if c.section.For > 0 && late(elapsed, c.section.For) {
		c.broke("P5", "returned %v after its time was up", elapsed-c.section.For)
	}
}

// late tells whether a call overran the end of its ctx.
func late(elapsed, limit time.Duration) bool { return elapsed > max(limit, 0)+50*time.Millisecond }
