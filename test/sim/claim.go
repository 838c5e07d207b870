package sim

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// claim is a lock that somebody believes to hold: from the return of the call
// that took it until the call that gives it back.
type claim struct {
	who    string
	path   string
	node   string // "" if unknown
	token  int64  // 0 if nobody asked for it
	read   bool
	units  int             // permits, of a semaphore
	least  time.Duration   // for which its node stays
	shared bool            // its node may go on to another owner
	told   <-chan struct{} // closed by a loss; nil for another library's lock, which does not tell
	hold   *zklock.Hold    // nil for another library's
	// release gives back a handle.
	release func(context.Context) error
	inc     *incarnation // nil for another library's
	of      *lock        // nil for another library's
	lock    *lock        // that made its goroutine the owner; nil for a handle
	beside  *claim       // the write lock of the same owner
	more    []*claim     // the other locks of a MultiLocker
	early   bool         // its hold was had before: it waited for another lock of a MultiLocker, or is any reader's
	any     bool         // one of several readers without an owner: which of their holds it gives back is open
	since   time.Time
	sure    atomic.Pointer[sure]
	depth   int           // how often its goroutine has locked it
	over    chan struct{} // closed when given back
}

// claim makes the claim of who has taken the lock in the way of s, by these holds: of a
// MultiLocker those of several of its locks. It is nil if one is missing.
func (v *visit) claim(s Section, holds ...*zklock.Hold) *claim {
	var first *claim
	for _, h := range holds {
		if h == nil {
			return nil
		}
		of := v.lock.part(h)
		c := &claim{
			who: v.name, path: of.spec.Path, node: h.Node(), read: s.Read,
			told: h.Lost(), hold: h, inc: v.inc, of: of, depth: 1, over: make(chan struct{}),
			least: of.spec.MinHold, shared: of.mutex != nil && of.spec.handsOn() && !s.Fence,
		}
		if of.permits != nil { // sections that faults bring ask for permits of any lock
			c.units = s.Permits
		}
		if s.Fence {
			c.token = h.Token()
		}
		if !s.Take.handle() {
			c.lock = of
		}
		if s.Read && of.spec.Ownerless && s.Take < Do {
			c.any, c.early = true, true
		}
		if first == nil {
			first = c
			continue
		}
		for _, had := range first.parts() {
			had.early = true
		}
		first.more = append(first.more, c)
	}
	return first
}

// parts are the claims that c stands for: itself, and those of the other locks of
// a MultiLocker.
func (c *claim) parts() []*claim { return append([]*claim{c}, c.more...) }

// includes reports whether other is c, or held beside it; nothing includes any.
func (c *claim) includes(other *claim) bool {
	return c != nil && (c == other || c.beside.includes(other))
}

// side returns c or what is held beside it, whichever reads or not; nil if neither does.
func (c *claim) side(read bool) *claim {
	if c == nil || c.read == read {
		return c
	}
	return c.beside.side(read)
}

// believed reports whether the owner has no way to know that it does not hold the
// lock: it was not told of a loss, whatever else has ended its hold, such as a Close of its session.
func (c *claim) believed() bool { return c.told == nil || !c.lost() }

// released reports whether the library has ended c as released. The hold that all readers without
// an owner look at has to last for as long as any of them reads.
func (c *claim) released() bool {
	reads := c.any && isOpen(c.over)
	return !reads && c.hold != nil && errors.Is(c.hold.Err(), zklock.ErrReleased)
}

// lost reports whether the owner was told that the lock is lost.
func (c *claim) lost() bool {
	return !isOpen(c.told)
}

// isOpen reports whether nothing has closed the channel.
func isOpen(c <-chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// isLost reports whether the library has ended c, or another that c stands for, as lost.
func (c *claim) isLost() bool {
	for _, part := range c.parts() {
		if errors.Is(part.hold.Err(), zklock.ErrLost) {
			return true
		}
	}
	return false
}

// conflicts reports whether c and other cannot both hold, by the rules of readers
// and writers.
func (c *claim) conflicts(other *claim) bool {
	return c.path == other.path && c.units == 0 && !(c.read && other.read) && c.beside != other && other.beside != c
}

// patience is how long after the end of its node, by whatever hand, a claim's
// owner may believe in it: no lease lasts longer.
func (c *claim) patience() time.Duration { return c.inc.session.Timeout() }

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

// askZooKeeper has ZooKeeper say what it thinks of c.
func (v *visit) askZooKeeper(c *claim) {
	v.judgeInspect()
	v.world.work.Go(func() { v.judgeCheck(c) })
	for _, part := range c.parts() {
		v.judgeRevoked(part)
	}
	v.world.work.Go(func() {
		v.revoke([]string{c.node, v.lock.part(c.hold).spec.Path}[time.Since(v.world.log.start)/time.Millisecond%2], 20*time.Millisecond)
	})
}

func (v *visit) judgeValid(c *claim) {
	ended := c.hold.Err() != nil
	switch valid := c.hold.Valid(); {
	case valid && ended:
		v.world.checker.fail("P2", "%s: %s is valid and has ended", v.name, base(c.node))
	case !valid && c.hold.Err() == nil:
		v.world.checker.fail("P2", "%s: %s is held and not valid", v.name, base(c.node))
	}
}

// judgeOwner judges what the lock tells its owner. Of the readers of a lock without owners it tells
// all what any of them has lost.
func (v *visit) judgeOwner(c *claim, s Section) {
	if !c.any && !isOpen(v.lock.facade(s).Lost()) && !c.isLost() {
		v.world.checker.fail("P2", "%s: %s is not lost, its Lost channel says", v.name, base(c.node))
	}
	if counts, ok := v.lock.facade(s).(interface{ HoldCount() int }); ok && counts.HoldCount() != c.depth {
		v.world.checker.fail("P7", "%s holds %s %d deep, not %d", v.name, c.path, c.depth, counts.HoldCount())
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
		n := v.world.checker.node(f.Node)
		if n != nil && f.Session == 0 && f.Token == 0 && call.refusedInSpell(zk.ErrNoAuth) {
			continue // the node may not be read
		}
		if n == nil || n.owner != f.Session || n.created != f.Token {
			call.broke("P7", "tells of %s of session %#x, created by %#x", f.Node, f.Session, f.Token)
		}
	}
}

// judgeCheck has ZooKeeper compare the hold's check with its nodes.
func (v *visit) judgeCheck(c *claim) {
	ended, start := c.hold.Err() != nil, time.Now()
	_, err := v.inc.session.Conn().Multi(c.hold.Check())
	if err == nil && (ended || !v.world.checker.existed(c.node, start)) {
		v.world.checker.fail("P2", "the check of %s by %s succeeded, and it was gone", base(c.node), v.name)
	}
}

// judgeRevoked checks that somebody has asked for the lock of c if c says so.
func (v *visit) judgeRevoked(c *claim) {
	if !isOpen(c.hold.Revoked()) && !v.world.checker.mayBeAsked(c) && c.hold.Err() == nil {
		v.world.checker.fail("P7", "%s: nobody asked for %s back", v.name, base(c.node))
	}
}
