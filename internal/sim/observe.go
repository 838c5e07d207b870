package sim

import (
	"time"

	"github.com/zklock/zklock"
)

// observe asks the library what it thinks of c, which is held in the way of s, and
// judges what it says.
func (v *visit) observe(c *claim, s Section) {
	for _, part := range c.parts() {
		v.judgeValid(part)
	}
	if s.Take < Do {
		v.judgeOwner(c, s)
	}
}

// ask has ZooKeeper say what it thinks of c.
func (v *visit) ask(c *claim) {
	v.judgeInspect()
	v.world.work.Go(func() { v.judgeCheck(c) })
	v.world.work.Go(func() { v.judgeRevoke(c) })
}

// looks tells whether the section asks ZooKeeper. It needs no draw of its own,
// so that seeds keep their programs.
func (s Section) looks() bool { return s.Fence && s.Hold/time.Millisecond%4 == 1 }

func (v *visit) judgeValid(c *claim) {
	ended := c.hold.Err() != nil
	switch valid := c.hold.Valid(); {
	case valid && ended:
		v.world.referee.fail("P2", "%s: %s is valid and has ended", v.name, base(c.node))
	case !valid && c.hold.Err() == nil:
		v.world.referee.fail("P2", "%s: %s is held and not valid", v.name, base(c.node))
	}
}

// judgeOwner judges what the lock tells its owner.
func (v *visit) judgeOwner(c *claim, s Section) {
	select {
	case <-v.lock.facade(s).Lost():
		if !c.isLost() {
			v.world.referee.fail("P2", "%s: %s is not lost, its Lost channel says", v.name, base(c.node))
		}
	default:
	}
	if counts, ok := v.lock.facade(s).(interface{ HoldCount() int }); ok && counts.HoldCount() != c.depth {
		v.world.referee.fail("P7", "%s holds %s %d deep, not %d", v.name, c.path, c.depth, counts.HoldCount())
	}
}

// judgeInspect compares what Inspect says with the transactions. A server that lags
// shows what is gone, but nothing that never was.
func (v *visit) judgeInspect() {
	const limit = 20 * time.Millisecond
	ctx, end := v.limited(limit, false)
	defer end()
	start := time.Now()
	found, err := zklock.Inspect(ctx, v.inc.session, v.lock.spec.Path)
	call := &call{visit: v, what: "Inspect", ctx: ctx, limit: limit, since: start}
	call.punctual(time.Since(start))
	if err != nil && !call.excused(err) && v.world.ctx.Err() == nil {
		call.broke("P7", "failed without a reason: %v", err)
	}
	for _, f := range found {
		if n := v.world.referee.node(f.Node); n == nil || n.owner != f.Session || n.created != f.Token {
			call.broke("P7", "tells of %s of session %#x, created by %#x", f.Node, f.Session, f.Token)
		}
	}
}

// judgeCheck has ZooKeeper compare the hold's check with its nodes.
func (v *visit) judgeCheck(c *claim) {
	ended, start := c.hold.Err() != nil, time.Now()
	_, err := v.inc.session.Conn().Multi(c.hold.Check())
	if err == nil && (ended || !v.world.referee.existed(c.node, start)) {
		v.world.referee.fail("P2", "the check of %s by %s succeeded, and it was gone", base(c.node), v.name)
	}
}

// judgeRevoke asks for the lock back.
func (v *visit) judgeRevoke(c *claim) {
	referee := v.world.referee
	select {
	case <-c.hold.Revoked():
		referee.fail("P7", "%s: nobody asked for %s back", v.name, base(c.node))
	default:
	}
	ctx, end := v.limited(20*time.Millisecond, false)
	defer end()
	if err := zklock.Revoke(ctx, v.inc.session, c.node); err != nil {
		return
	}
	select {
	case <-c.hold.Revoked():
	case <-c.over:
	case <-v.world.ctx.Done():
	case <-time.After(c.patience()):
		if referee.isCalm() && c.hold.Err() == nil {
			referee.fail("liveness", "%s is not told that %s was asked for", v.name, base(c.node))
		}
	}
}
