package sim

import (
	"context"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func (w *world) expire(f Fault) func() {
	ids := w.machines[f.Machine].ids()
	if id := ids[f.Server%len(ids)]; id != 0 {
		w.checker.doom(id)
		w.ensemble.ExpireSession(id)
	}
	return nil
}

// expireAtLogin ends a session after the handshake of a new connection, while the
// client still sends its credentials and holds requests back: those are executed
// in the next session.
func (w *world) expireAtLogin(f Fault) func() {
	m := w.machines[f.Machine]
	held := w.ensemble.HoldReply(zktest.OpAuth, zktest.OnClient(m.place))
	m.place.Cut()
	w.work.Go(func() {
		if !closesWithin(f.For, held.Struck()) {
			return
		}
		w.crowd(f)
		time.Sleep(f.For / 16)
		w.expire(f)
		m.place.Cut()
		held.Release()
	})
	return held.Release
}

// expireInLine ends a session of which several stand in each queue.
func (w *world) expireInLine(f Fault) func() {
	w.crowd(f)
	time.Sleep(f.For / 32)
	return w.expire(f)
}

func (w *world) closeSession(f Fault) func() {
	m := w.machines[f.Machine]
	w.work.Go(func() {
		closed := false
		if w.dice(f).one(2) {
			closed = m.shutDown(max(f.For, time.Millisecond))
		} else {
			closed = m.close(false)
		}
		if closed {
			time.Sleep(f.For / 8)
			m.open(f.Machine)
		}
	})
	return nil
}

// replaceSession gives a machine another session at its next connect, and does not
// tell that the old one is no longer its own, as ClickHouse Keeper may.
func (w *world) replaceSession(f Fault) func() {
	m := w.machines[f.Machine]
	w.checker.mislead(m.name)
	m.forget.Store(true)
	m.place.Cut()
	return func() { m.forget.Store(false) }
}

// sleep lets a machine sleep, most often to wake without a network: its wall clock
// goes on, and the countdown of its session, but nothing that runs on it. What it
// cannot notice is a session that ends while it sleeps or wakes up.
func (w *world) sleep(f Fault) func() {
	m := w.machines[f.Machine]
	d := w.dice(f)
	if !d.one(4) {
		cutOff(m.place)
	}
	nap, ids := d.span(0, 3*m.spec.Timeout/4), m.ids()
	for _, id := range ids {
		if w.ensemble.AgeSession(id, 0)-nap < m.spec.Timeout/16 {
			w.checker.doom(id)
		}
	}
	w.checker.mislead(m.name)
	m.clock.Step(nap)
	for _, id := range ids {
		w.ensemble.AgeSession(id, nap)
	}
	w.later(m.spec.Timeout, func() { m.place.Unblock() })
	return nil
}

// setClock sets a machine's wall clock, back or forward.
func (w *world) setClock(f Fault) func() {
	m := w.machines[f.Machine]
	w.checker.mislead(m.name)
	m.clock.Step(w.dice(f).span(0, 2*m.spec.Timeout) - m.spec.Timeout)
	return nil
}

// quietGap keeps a machine's pings back for a while. The first thing that its
// session writes afterwards is also the last that the leader hears of it.
func (w *world) quietGap(f Fault) func() {
	m := w.machines[f.Machine]
	m.place.Block(zktest.ToServer)
	w.work.Go(func() {
		defer m.place.Unblock()
		time.Sleep(m.spec.Timeout / 3)
		m.place.Unblock()
		written := w.checker.await(OnCreate, m.id())
		w.ask(m, Section{Take: Acquire, Permits: 1, Hold: m.spec.Timeout})
		if !closesWithin(f.For, written) {
			return
		}
		time.Sleep(2 * (w.program.Cluster.Between + w.program.Cluster.Disk)) // until its server knows
		if heal := w.cutOffPair(f); heal != nil {
			time.Sleep(m.spec.Timeout)
			heal()
		}
	})
	return nil
}

// lateTouches pauses the leader, most often after a proof, while a machine holds a
// lock through a follower. Something that the machine writes in the last moments of
// the pause is committed. The touches of the time before are not relayed.
func (w *world) lateTouches(f Fault) func() {
	m, d := w.machines[f.Machine], w.dice(f)
	inc := m.current()
	if inc == nil {
		return nil
	}
	w.ask(m, Section{Take: Acquire, Permits: 1, Hold: 3 * m.spec.Timeout})
	proof := w.ensemble.HoldReply(zktest.OpMulti, zktest.OnClient(m.place))
	w.work.Go(func() {
		ctx, cancel := context.WithTimeout(w.ctx, 3*m.spec.Timeout)
		defer cancel()
		w.work.Go(func() { readAlong(ctx, inc.session) })
		closesWithin(2*m.spec.Timeout, proof.Struck())
		proof.Release()
		leader, server := w.ensemble.Leader(), w.serverOf(m)
		if leader != nil && server != nil && server != leader && w.checker.holds(m.id()) {
			w.pauseAndCutOff(m, leader, server, d)
		}
	})
	return nil
}

// pauseAndCutOff pauses the leader, and has it hear of a machine's create when it
// goes on, but of nothing else from that machine's server.
func (w *world) pauseAndCutOff(m *machine, leader, server *zktest.Server, d dice) {
	time.Sleep(d.span(m.spec.Timeout/32, m.spec.Timeout/10))
	leader.Freeze()
	last := w.program.Cluster.Latency + d.span(0, 5*time.Millisecond)
	time.Sleep(d.span(m.spec.Timeout/5, 7*m.spec.Timeout/24) - last) // its connection would be cut then
	if w.checker.holds(m.id()) {
		w.ask(m, Section{Take: Acquire, Permits: 1, Limit: m.spec.Timeout})
	}
	time.Sleep(last)
	leader.Thaw()
	time.Sleep(d.short(5 * time.Millisecond))
	w.ensemble.Block(server, leader)
	w.leaveWith(m, server)
	time.Sleep(m.spec.Timeout)
	m.place.Unblock()
	w.ensemble.Heal()
}

// readAlong uses a session's connection as its owner may.
func readAlong(ctx context.Context, s *zklock.Session) {
	for ctx.Err() == nil {
		s.Conn().Exists("/")
		pause(ctx, s.Timeout()/50)
	}
}

// loseHandshake has a machine ask a server that grants less than the others, whose
// answer it does not hear, and then cuts it off: at once, or when the server
// carries the handshake out after the machine has gone elsewhere.
func (w *world) loseHandshake(f Fault) func() {
	m, mean := w.machines[f.Machine], w.ensemble.Server(f.Server)
	end := w.beMean(mean, f)
	handshake := []zktest.Filter{zktest.OnClient(m.place), zktest.OnServer(mean)}
	late := int(f.For/time.Millisecond)%2 == 1
	unheard := (*zktest.Ensemble).HoldReply
	if late {
		unheard = (*zktest.Ensemble).HoldRequest
	}
	held := unheard(w.ensemble, zktest.OpConnect, handshake...)
	w.refuse(true, mean)
	m.place.Cut()
	w.work.Go(func() {
		closesWithin(m.spec.Timeout/8, held.Struck())
		if late {
			w.refuse(false, mean)
			time.Sleep(m.spec.Timeout)
			held.Release()
		}
		cutOff(m.place)
		w.refuse(false, mean)
		time.Sleep(m.spec.Timeout)
		held.Release()
		m.place.Unblock()
		end()
	})
	return nil
}

// idleHandshake has a machine that holds nothing ask a server that grants less than the
// others, whose answer it does not hear, go on to another one, and lock there. Then the server
// carries the handshake out, and the machine is cut off.
func (w *world) idleHandshake(f Fault) func() {
	m, mean, d := w.machines[f.Machine], w.ensemble.Server(f.Server), w.dice(f)
	end := w.beMean(mean, f)
	w.work.Go(func() {
		defer end()
		w.ask(m, Section{Take: Acquire, Permits: 1}) // which leaves a lease
		if !w.awaits(faultTime/2, func() bool { return len(w.checker.nodesOf(m.id())) == 0 }) {
			return
		}
		held := w.ensemble.HoldRequest(zktest.OpConnect, zktest.OnClient(m.place), zktest.OnServer(mean))
		defer held.Release()
		w.refuse(true, mean)
		m.place.Cut()
		closesWithin(m.spec.Timeout/8, held.Struck())
		w.refuse(false, mean)
		w.ask(m, Section{Take: Acquire, Permits: 1, Hold: 2 * m.spec.Timeout})
		if !w.awaits(m.spec.Timeout, func() bool { return w.checker.holds(m.id()) }) {
			return
		}
		pause(w.ctx, d.short(m.spec.Timeout/4))
		held.Release()
		cutOff(m.place)
		pause(w.ctx, m.spec.Timeout)
		m.place.Unblock()
	})
	return nil
}

// awaits looks whether something is so until it is, for no longer than d, and reports whether it is.
func (w *world) awaits(d time.Duration, isSo func() bool) bool {
	const often = 5 * time.Millisecond
	for start := time.Now(); !isSo(); {
		if time.Since(start) >= d || !pause(w.ctx, often) {
			return false
		}
	}
	return true
}

// restartBehindProxy restarts a server that a machine reaches by way of a proxy, and has it
// leave one handshake without an answer: ZooKeeper may accept a connection before it has
// loaded its data, fail on it, and neither answer nor close it.
func (w *world) restartBehindProxy(f Fault) func() {
	m, server := w.machines[f.Machine], w.ensemble.Server(f.Server)
	m.proxied.Store(true)
	server.Stop()
	deaf := server.HoldRequest(zktest.OpConnect, zktest.OnClient(m.place))
	return func() {
		w.restart(server)
		time.Sleep(m.spec.Timeout)
		m.proxied.Store(false)
		if isOpen(deaf.Struck()) { // what has come is never answered
			deaf.Release()
		}
	}
}
