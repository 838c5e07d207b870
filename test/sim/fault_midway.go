package sim

import (
	"slices"
	"time"

	"github.com/zklock/zklock/zktest"
)

// writeOnNodes has somebody write on a machine's lock nodes: a wish for the lock, or something
// that only begins like one. Each write fires the watches on its node.
func (w *world) writeOnNodes(f Fault) func() {
	nodes, d := w.checker.nodesOf(w.machines[f.Machine].id()), w.dice(f)
	slices.Sort(nodes)
	w.operate(func(o *operator) (err error) {
		for _, node := range nodes {
			if _, err = o.conn.Set(node, []byte(written[d.IntN(len(written))]), -1); err != nil {
				w.log.note("operator", "%s: %v", base(node), err)
			}
		}
		return err
	})
	return nil
}

// written is what may be on a lock node. The first two ask for the lock, as Curator's Revoker
// and this library do.
var written = []string{"__REVOKE__", "__REVOKE__ host", "__REVOKE__D", "__REVOKE__ ", "host", ""}

// deleteMidway has an operator delete one of a machine's nodes in the middle of a downgrade, or
// of a turn at the permits: when what these end with is on its way.
func (w *world) deleteMidway(f Fault) func() {
	m, d := w.machines[f.Machine], w.dice(f)
	ends := []string{paths[0] + "/", permitsPath + "/leases/"}[d.IntN(2)]
	asked := w.ensemble.HoldRequest(zktest.OpMulti, zktest.OnClient(m.place), zktest.OnPath(ends))
	for _, of := range []*machine{m, w.machines[(f.Machine+1)%len(w.machines)]} {
		w.ask(of, Section{Take: Acquire, Permits: 2, Hold: f.For / 8, Downgrade: true})
	}
	w.work.Go(func() {
		if !closesWithin(faultTime, asked.Struck()) {
			return
		}
		nodes := w.checker.nodesOf(m.id())
		if len(nodes) == 0 {
			asked.Release()
			return
		}
		slices.Sort(nodes)
		w.operate(func(o *operator) error {
			defer asked.Release()
			defer func() { time.Sleep(d.short(100 * time.Millisecond)) }()
			return o.remove(nodes[d.IntN(len(nodes))])
		})
	})
	return asked.Release
}

// deleteBeforeList has an operator delete a node between what has a machine ask for a list, an
// event for one, and the list.
func (w *world) deleteBeforeList(f Fault) func() {
	asked := w.ensemble.HoldRequest(zktest.OpGetChildren2, zktest.OnClient(w.machines[f.Machine].place))
	w.crowd(f)
	w.work.Go(func() {
		if !closesWithin(f.For, asked.Struck()) {
			return
		}
		nodes := w.checker.nodes()
		if len(nodes) == 0 {
			return
		}
		slices.Sort(nodes)
		w.operate(func(o *operator) error {
			defer asked.Release()
			return o.remove(nodes[w.dice(f).IntN(len(nodes))])
		})
	})
	return asked.Release
}

// arriveLate has what a machine has asked of its follower come to the leader when the machine
// has gone to another server.
func (w *world) arriveLate(f Fault) func() {
	m := w.machines[f.Machine]
	leader, old := w.ensemble.Leader(), w.serverOf(m)
	if leader == nil || old == nil || old == leader {
		return nil
	}
	d := w.dice(f)
	w.ensemble.Block(old, leader)
	w.crowd(f)
	w.work.Go(func() {
		time.Sleep(3*w.program.Cluster.Latency + d.short(20*time.Millisecond))
		old.Refuse(true)
		m.place.Cut()
		time.Sleep(d.span(0, w.followersWait()/2)) // the leader would give its follower up
		w.ensemble.Heal()
		time.Sleep(f.For / 8)
		old.Refuse(false)
	})
	return nil
}

// grantLess has a server grant less than the others do, to a machine that has lost its
// connection, and most often cuts that machine off later.
func (w *world) grantLess(f Fault) func() {
	m, d, mean := w.machines[f.Machine], w.dice(f), w.ensemble.Server(f.Server)
	w.ask(m, Section{Take: Acquire, Permits: 1, Hold: 2 * m.spec.Timeout})
	end := w.beMean(mean, f)
	w.refuse(true, mean)
	w.work.Go(func() {
		time.Sleep(d.short(m.spec.Timeout))
		m.place.Cut()
		time.Sleep(d.span(0, m.spec.Timeout))
		if !d.one(3) {
			cutOff(m.place)
		}
		w.refuse(false, mean)
		time.Sleep(m.spec.Timeout)
		m.place.Unblock()
		end()
	})
	return nil
}

// beMean has a server grant less than the others, but no less than a quarter of that.
func (w *world) beMean(mean *zktest.Server, f Fault) (end func()) {
	tick := w.program.Cluster.Tick
	part := time.Duration(3+int(f.For/time.Millisecond)%5) * w.longest() / 10
	mean.SetSessionTimeouts(2*tick, max(2*tick, part))
	return func() { mean.SetSessionTimeouts(2*tick, longestTicks*tick) }
}
