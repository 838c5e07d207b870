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
	section *Section          // nil: gives back
	claim   *claim            // what is given back
	lost    bool              // which was lost before the call
	closed  bool              // the session was, before the call
	alone   bool              // no other call for the lock was under way
	begun   int64             // calls for the lock, with this one
	held    []string          // nodes by which the trace was told of a hold
	places  map[string]string // by path, the node by which it stands in the queue
	waits   bool              // for ZooKeeper's confirmation
	what    string
	ctx     context.Context
	limit   time.Duration
	since   time.Time
}

// begin notes that the lock is about to be taken in the way of s, and makes the
// ctx for it.
func (v *visit) begin(s Section) (context.Context, *call, func()) {
	v.world.stats.Calls[s.Take].Add(1)
	side := ""
	if s.Read {
		side = " (read)"
	}
	v.note("%v%s of %v %s, ctx %v", s.Take, side, v.lock.spec.Kind, v.lock.spec.Path, s.Limit)
	ctx, end := v.limited(s.Limit, s.Cancel)
	if s.Panics != Nowhere {
		v.note("%v panics", s.Panics)
	}
	c := &call{
		visit: v, section: &s, closed: v.inc.closed.Load(),
		what: s.Take.String() + side, ctx: ctx, limit: s.Limit, since: time.Now(),
		places: map[string]string{},
	}
	begun, ended := v.lock.called()
	c.alone = begun == ended
	for _, one := range v.lock.all() {
		one.begun.Add(1)
	}
	c.begun, _ = v.lock.called()
	return context.WithValue(ctx, inCall{}, c), c, end
}

// beginLeave is begin for giving c back in the way of s.
func (v *visit) beginLeave(c *claim, s Section) (context.Context, *call, func()) {
	l := s.Leave
	v.note("%v of %v %s", l, v.lock.spec.Kind, v.lock.spec.Path)
	limit := map[Leave]time.Duration{UnlockImpatient: 5 * time.Millisecond, UnlockDone: -1}[l]
	ctx, end := v.limited(limit, false)
	waits := s.Take.handle() || l != Unlock && l != UnlockElsewhere
	return ctx, &call{visit: v, claim: c, lost: c.isLost(), waits: waits, what: l.String(), ctx: ctx, limit: limit, since: time.Now()}, end
}

// limited makes a ctx that ends after limit (0: never, negative: at once).
func (v *visit) limited(limit time.Duration, cancelled bool) (context.Context, func()) {
	if limit > 0 && !cancelled {
		return context.WithTimeout(v.world.ctx, limit)
	}
	ctx, cancel := context.WithCancel(v.world.ctx)
	if limit < 0 {
		cancel()
	}
	if limit <= 0 {
		return ctx, cancel
	}
	timer := time.AfterFunc(limit, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

func (c *call) broke(promise, format string, args ...any) {
	c.world.checker.fail(promise, "%s of %s by %s "+format, append([]any{c.what, c.lock.spec.Path, c.name}, args...)...)
}

// note writes what the actor does into the timeline.
func (v *visit) note(format string, args ...any) { v.world.log.note(v.name, format, args...) }

// took judges how an attempt to take the lock ended.
func (c *call) took(success bool, err error) {
	defer func() {
		for _, one := range c.lock.all() {
			one.ended.Add(1)
		}
	}()
	if c.world.ctx.Err() != nil {
		return
	}
	elapsed := time.Since(c.since)
	if success {
		c.note("%s succeeded after %v", c.what, elapsed)
		if c.closed {
			c.broke("P1", "succeeded though its session was closed")
		}
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
	if c.world.checker.isCalm() {
		time.AfterFunc(300*time.Millisecond, c.judgeLeft)
	}
	switch {
	case c.closed && c.section.Take != TryLock && !errors.Is(err, zklock.ErrClosed):
		if !c.excused(err) && !errors.Is(err, zklock.ErrLost) && !errors.Is(err, errPanic) && !c.upgrades() {
			c.broke("P7", "does not say that its session is closed: %v", err)
		}
	case err == nil, c.section.Take == TryAcquire && errors.Is(err, zklock.ErrLocked):
		c.refused(elapsed)
	case c.excused(err):
	case c.section.Panics != Nowhere && errors.Is(err, errPanic):
	case errors.Is(err, zklock.ErrLost) && c.world.checker.ended(c.outer):
	case c.upgrades() && errors.Is(err, zklock.ErrUpgrade):
	default:
		c.broke("P7", "failed without a reason: %v", err)
	}
}

// refused judges a try that came to nothing because the lock was not to be had.
func (c *call) refused(elapsed time.Duration) {
	checker := c.world.checker
	switch s := c.section; {
	case c.inc.closing.Load():
	case c.outer.side(c.section.Read) != nil: // the owner takes it once more
		if !checker.ended(c.outer) {
			c.broke("P7", "failed for the lock's owner")
		}
	case s.For > 0:
		if elapsed < s.For {
			c.broke("P7", "gave up after %v of %v", elapsed, s.For)
		}
	case s.Take == TryLock && elapsed >= c.machine.spec.Timeout/3, c.upgrades():
	case !c.wasAlone(): // owners of a handoff stand in line without a node
	case checker.isCalm() && !checker.contended(c.lock, c.since):
		c.broke("P7", "failed before any fault, and nobody was there")
	}
}

// wasAlone reports whether nobody else has asked for the lock in its process meanwhile.
func (c *call) wasAlone() bool {
	begun, _ := c.lock.called()
	return c.alone && begun == c.begun
}

// judgeLeft checks that the call, which has failed before any fault, leaves nothing of what it has
// had meanwhile, whatever is to stay of what somebody has come to use.
func (c *call) judgeLeft() {
	for _, node := range c.held {
		if c.world.checker.isCalm() && c.world.checker.existed(node, time.Now()) && !c.world.checker.used(node) {
			c.broke("P4", "failed and leaves %s", base(node))
		}
	}
}

// upgrades reports whether a reader asks for the write lock.
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
	case errors.Is(err, zklock.ErrLost) && (c.claim.isLost() || c.claim.any || c.section != nil && c.lock.several != nil):
	default:
		c.broke("P7", "cannot give the lock back: %v", err)
	}
}

// confirmed judges the nil of a call that waits for ZooKeeper's confirmation.
func (c *call) confirmed() {
	if c.claim.any {
		return
	}
	if c.lost {
		c.broke("P7", "returned nil for a lock that was lost")
	}
	if c.ctx.Err() != nil || c.inc.closing.Load() {
		return
	}
	for _, part := range c.claim.parts() {
		if !part.shared && c.world.checker.keeps(part, c.since) {
			c.broke("P4", "returned nil, and %s is there", base(part.node))
		}
	}
}

// excused reports whether err is the end of the call's ctx or of its session, or a refusal.
func (c *call) excused(err error) bool {
	return c.refusedInSpell(err) || c.limit != 0 && c.ctx.Err() != nil && errors.Is(err, c.ctx.Err()) ||
		c.inc.closing.Load() && errors.Is(err, zklock.ErrClosed) && (c.inc.ends() || !c.owned())
}

// owned reports whether the caller owns the lock already, and goes on with it.
func (c *call) owned() bool { return c.outer != nil && !c.world.checker.ended(c.outer) }

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

// late reports whether a call overran the end of its ctx.
func late(elapsed, limit time.Duration) bool { return elapsed > max(limit, 0)+50*time.Millisecond }
