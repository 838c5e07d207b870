package sim

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// askBack has a machine ask for locks back, those of a path or that of a node, most often while
// others come and go there.
func (w *world) askBack(f Fault) func() {
	m, d := w.machines[f.Machine], w.dice(f)
	if !d.one(3) {
		w.ask(w.machines[d.IntN(len(w.machines))], Section{Take: Acquire, Permits: 2, Hold: f.For / 16, Downgrade: true})
	}
	w.work.Go(func() {
		for range 1 + d.IntN(6) {
			inc := m.current()
			if inc == nil {
				return
			}
			locks := slices.DeleteFunc(slices.Clone(inc.locks), func(l *lock) bool { return l == nil || l.several != nil })
			v := &visit{actor: &actor{w, m, m.name + "/asks"}, inc: inc, lock: locks[d.IntN(len(locks))]}
			of := v.lock.spec.Path
			if nodes := w.checker.nodesBelow(of); len(nodes) > 0 && d.one(2) {
				of = nodes[d.IntN(len(nodes))]
			}
			if d.one(2) {
				w.readLate(m, d.short(100*time.Millisecond))
			}
			v.revoke(of, []time.Duration{0, 20 * time.Millisecond, -1}[d.weighted([]int{8, 2, 1})])
			v.pause(d.short(500 * time.Millisecond))
		}
	})
	return nil
}

// readLate has the next read of a machine come late.
func (w *world) readLate(m *machine, late time.Duration) {
	held := w.ensemble.HoldRequest(zktest.OpGetData, zktest.OnClient(m.place))
	w.work.Go(func() {
		closesWithin(faultTime/16, held.Struck())
		pause(w.ctx, late)
		held.Release()
	})
}

// revoke asks for locks back, those of a path or that of a node, and judges the answer.
func (v *visit) revoke(of string, limit time.Duration) {
	ctx, end := v.limited(limit, false)
	defer end()
	v.note("Revoke of %s, ctx %v", of, limit)
	c := &call{visit: v, what: "Revoke", ctx: ctx, limit: limit, since: time.Now(), closed: v.inc.closed.Load()}
	err := zklock.Revoke(ctx, v.inc.session, of)
	if v.world.ctx.Err() != nil {
		return
	}
	v.note("Revoke of %s returned %v after %v", of, err, time.Since(c.since))
	c.punctual(time.Since(c.since))
	checker := v.world.checker
	switch {
	case c.excused(err):
	case errors.Is(err, zklock.ErrClosed) && v.inc.closing.Load(): // all has been given back meanwhile
	case err == nil:
		if c.closed || limit < 0 || !checker.wasAsked(of, c.since) {
			c.broke("P7", "of %s returned nil, and nobody was asked", of)
		}
	case errors.Is(err, zk.ErrNoNode):
		if checker.isCalm() && checker.stood(of, c.since) {
			c.broke("P7", "of %s said that there is nobody, and there was: %v", of, err)
		}
	case strings.Contains(err.Error(), "no form that this library knows") && checker.any(func(n *node) bool { return n.foreign && within(n.path, of) }):
	case errors.Is(err, zk.ErrNoAuth) && !v.machine.spec.Auth && v.world.guards(of):
	default:
		c.broke("P7", "of %s failed without a reason: %v", of, err)
	}
}

// guards reports whether somebody's access list may keep others from writing on a node there.
func (w *world) guards(of string) bool {
	return slices.ContainsFunc(w.program.Lockers, func(l LockerSpec) bool { return l.Guarded && within(of, l.Path) })
}

// within reports whether a path is dir, or below it.
func within(path, dir string) bool { return strings.HasPrefix(path+"/", dir+"/") }

// asks takes that somebody has asked for the lock of n. ck.mu is held.
func (ck *checker) asks(n *node) {
	n.asked, n.first = time.Now(), len(ck.tree.ahead(n)) == 0
	for c := range ck.claims {
		if c.hold != nil && contenderOf(c.node) == contenderOf(n.path) {
			ck.heeds(c)
		}
	}
}

// wasAsked reports whether somebody has been asked since then for the lock of a node, or for the
// one on a path while nobody was ahead.
func (ck *checker) wasAsked(of string, since time.Time) bool {
	return ck.any(func(n *node) bool {
		return !n.asked.Before(since) && (n.path == of || n.first && within(n.path, of))
	})
}

// any reports whether one of the nodes that there are, or were, is as f says.
func (ck *checker) any(f func(*node) bool) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.anyLocked(f)
}

func (ck *checker) anyLocked(f func(*node) bool) bool {
	for _, nodes := range []map[string]*node{ck.tree, ck.gone} {
		for _, n := range nodes {
			if f(n) {
				return true
			}
		}
	}
	return false
}

// mayBeAsked reports whether somebody has asked for the lock of c, or for what its owner had before.
func (ck *checker) mayBeAsked(c *claim) bool {
	return ck.any(func(n *node) bool {
		return contenderOf(n.path) == contenderOf(c.node) &&
			(!n.asked.IsZero() || slices.ContainsFunc(n.before, func(n *node) bool { return !n.asked.IsZero() }))
	})
}

// isAsked reports whether c has to hear that somebody has asked for its lock, or for what its
// owner had before, until it went on to c. ck.mu is held.
func (ck *checker) isAsked(c *claim) bool {
	for _, n := range ck.tree {
		if contenderOf(n.path) != contenderOf(c.node) {
			continue
		}
		ahead := len(n.before) > 0 && !slices.ContainsFunc(n.before, func(b *node) bool { return !b.marked || !b.asked.Before(n.since) })
		if ahead || n.marked {
			return true
		}
	}
	return false
}

// isMarked reports whether what asks for the lock of c can be read still. Nobody need hear of a
// mark that was written over: a watch tells that there was a change, and not what it was. ck.mu is
// held.
func (ck *checker) isMarked(c *claim) bool {
	for _, n := range ck.tree {
		says := n.marked || slices.ContainsFunc(n.before, func(b *node) bool { return b.marked })
		if says && contenderOf(n.path) == contenderOf(c.node) {
			return true
		}
	}
	return false
}

// heeds has it judged that c, whose lock somebody has asked for, hears of that. Faults may last
// for a while, and hide it. ck.mu is held.
func (ck *checker) heeds(c *claim) {
	limit := c.patience()
	if !ck.calm {
		limit = 2*limit + faultTime/2
	}
	time.AfterFunc(0, func() { // the observer of a transaction must not wait
		revoked := c.hold.Revoked()
		time.AfterFunc(limit, func() { ck.judgeHeeded(c, revoked) })
	})
}

func (ck *checker) judgeHeeded(c *claim, revoked <-chan struct{}) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	if _, held := ck.claims[c]; !held || !isOpen(revoked) {
		return
	}
	if left := ck.recoveryLocked(func(s *spell) bool { return s.bears(c) }); left > 0 {
		time.AfterFunc(left, func() { ck.judgeHeeded(c, revoked) })
		return
	}
	if c.hold.Err() == nil && ck.isMarked(c) {
		ck.failLocked("P7", "%s is not told that %s was asked for", c.who, base(c.node))
	}
}

// stood reports whether a node, or somebody who held the lock on a path, has been there all the
// time since shortly before then. Of those who come and go a few may be missed.
func (ck *checker) stood(of string, since time.Time) bool {
	const (
		lag  = 50 * time.Millisecond // of a server's
		many = 3
	)
	since = since.Add(-lag)
	ck.mu.Lock()
	defer ck.mu.Unlock()
	if _, isNode := contender(of); isNode || strings.Contains(of, "/leases/") {
		n := ck.tree[of]
		return n != nil && n.since.Before(since)
	}
	if of == permitsPath {
		of += "/leases"
	}
	until, gone := since, 0
	for _, n := range ck.gone {
		if dirOf(n.path) == of && !n.gone.Before(since) {
			gone++
		}
	}
	for again := true; again && gone < many; {
		again = false
		for _, n := range ck.tree {
			if dirOf(n.path) == of && n.since.Before(until) {
				return true
			}
		}
		for _, n := range ck.gone {
			if dirOf(n.path) == of && n.since.Before(until) && n.gone.After(until) {
				until, again = n.gone, true
			}
		}
	}
	return false
}

// nodesBelow returns the nodes of a lock that there are.
func (ck *checker) nodesBelow(path string) []string {
	nodes := slices.DeleteFunc(ck.nodes(), func(n string) bool { return !within(n, path) })
	slices.Sort(nodes)
	return nodes
}

// isMark reports whether a node that says so asks for its lock back.
func isMark(data []byte) bool {
	const mark = "__REVOKE__"
	return string(data) == mark || len(data) > len(mark)+1 && strings.HasPrefix(string(data), mark+" ")
}
