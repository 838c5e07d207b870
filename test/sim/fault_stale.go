package sim

import (
	"slices"
	"time"

	"github.com/zklock/zklock/zktest"
)

// keepForGood has a follower keep for good, when it goes, a node by which a machine holds a lock or
// waits for one: that of another machine, if it is a follower's. The servers' data are as they have
// to be again after an election.
func (w *world) keepForGood(f Fault) func() {
	m, next := w.machines[f.Machine], w.machines[(f.Machine+1)%len(w.machines)]
	w.ask(m, Section{Take: Acquire, Permits: 1, Hold: f.For / 4})
	pause(w.ctx, f.For/16)
	w.ask(next, Section{Take: Acquire, Permits: 1, Hold: f.For / 32})
	pause(w.ctx, f.For/16)
	nodes := w.checker.nodesOf(m.id())
	if len(nodes) == 0 {
		return nil
	}
	slices.Sort(nodes)
	node := w.dice(f).among(nodes)
	servers := w.ensemble.Servers()
	if at := w.serverOf(next); at != nil {
		servers = slices.Insert(servers, 0, at)
	}
	if !slices.ContainsFunc(servers, func(s *zktest.Server) bool { return s.KeepNode(node) }) {
		return nil
	}
	w.log.note("FAULT", "%s is kept", base(node))
	w.checker.keep(node)
	// For good, too, each machine may yet come to wait behind it, one after the other.
	w.checker.begin(&spell{tail: time.Duration(1+len(w.machines)) * unheard, deaf: true})
	w.asked.Add(int64(len(w.machines)) * int64(unheard))
	return nil
}

// keep notes that a follower keeps a node for good. A connection that it has not heard the end of may
// have a watch there.
func (ck *checker) keep(path string) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.kept[path] = true
}

func (ck *checker) isKept(path string) bool {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.kept[path]
}
