package sim

import (
	"context"
	"time"
)

// call is one call of the library under way, and the judge of its result.
type call struct {
	*visit
	section *Section // nil: gives back
	claim   *claim   // what is given back
	lost    bool     // which was lost before the call
	waits   bool     // for ZooKeeper's confirmation
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
		ctx = context.WithValue(ctx, panicsIn{}, s.Panics)
	}
	return ctx, &call{visit: v, section: &s, what: s.Take.String() + side, ctx: ctx, limit: s.Limit, since: time.Now()}, end
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
	c.world.referee.fail(promise, "%s of %s by %s "+format, append([]any{c.what, c.lock.spec.Path, c.name}, args...)...)
}

// note writes what the actor does into the timeline.
func (v *visit) note(format string, args ...any) { v.world.log.note(v.name, format, args...) }
