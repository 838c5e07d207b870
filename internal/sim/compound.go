package sim

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// deleteUnlisted deletes a machine's nodes when a list that shows one of them has
// been made, and is lost: only the next list tells that it is gone.
func (w *world) deleteUnlisted(f Fault) func() {
	held := w.ensemble.HoldReply(zktest.OpGetChildren2, zktest.OnClient(w.machines[f.Machine].place))
	w.crowd(f)
	w.work.Go(func() {
		select {
		case <-held.Struck():
			w.deleteUnseen(f)
		case <-time.After(f.For):
		}
	})
	return held.Release
}

// expireInLine ends a session of which several stand in each queue.
func (w *world) expireInLine(f Fault) func() {
	w.crowd(f)
	time.Sleep(f.For / 32)
	return w.expire(f)
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
		written := w.referee.await(OnCreate, m.id())
		w.ask(m, Section{Take: Acquire, Permits: 1, Hold: m.spec.Timeout})
		select {
		case <-written:
			time.Sleep(2 * (w.program.Cluster.Between + w.program.Cluster.Disk)) // until its server knows
			if heal := w.cutOffPair(f); heal != nil {
				time.Sleep(m.spec.Timeout)
				heal()
			}
		case <-time.After(f.For):
		}
	})
	return nil
}

// sleep lets a machine sleep, most often to wake without a network: its wall clock
// goes on, and the countdown of its session, but nothing that runs on it. What it
// cannot notice is a session that ends while it sleeps or wakes up.
func (w *world) sleep(f Fault) func() {
	m := w.machines[f.Machine]
	d := w.dice(f)
	if !d.one(4) {
		m.place.Block(zktest.ToServer)
		m.place.Block(zktest.ToClient)
	}
	nap, id := d.span(0, 3*m.spec.Timeout/4), m.id()
	if w.ensemble.AgeSession(id, 0)-nap < m.spec.Timeout/16 {
		w.referee.doom(id)
	}
	m.clock.Step(nap)
	w.ensemble.AgeSession(id, nap)
	w.later(m.spec.Timeout, func() { m.place.Unblock() })
	return nil
}

// setClock sets a machine's wall clock, back or forward.
func (w *world) setClock(f Fault) func() {
	m := w.machines[f.Machine]
	m.clock.Step(w.dice(f).span(0, 2*m.spec.Timeout) - m.spec.Timeout)
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
		select {
		case <-proof.Struck():
		case <-time.After(2 * m.spec.Timeout):
		}
		proof.Release()
		leader, server := w.ensemble.Leader(), w.serverOf(m)
		if leader != nil && server != nil && server != leader && w.referee.holds(m.id()) {
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
	if w.referee.holds(m.id()) {
		w.ask(m, Section{Take: Acquire, Permits: 1, Limit: m.spec.Timeout})
	}
	time.Sleep(last)
	leader.Thaw()
	time.Sleep(d.short(5 * time.Millisecond))
	w.ensemble.Block(server, leader)
	for _, other := range w.ensemble.Servers() {
		if other != server {
			m.place.Block(zktest.ToServer, other)
		}
	}
	time.Sleep(m.spec.Timeout)
	m.place.Unblock()
	w.ensemble.Heal()
}

// readAlong uses a session's connection as its owner may.
func readAlong(ctx context.Context, s *zklock.Session) {
	for ctx.Err() == nil {
		s.Conn().Exists("/")
		select {
		case <-time.After(s.Timeout() / 50):
		case <-ctx.Done():
		}
	}
}

// replaceSession gives a machine another session at its next connect, and does not
// tell that the old one is no longer its own, as ClickHouse Keeper may.
func (w *world) replaceSession(f Fault) func() {
	m := w.machines[f.Machine]
	m.forget.Store(true)
	m.place.Cut()
	return func() { m.forget.Store(false) }
}

// forgetful is a connection to a server that has forgotten the session.
type forgetful struct {
	net.Conn
	forget    *atomic.Bool
	asked     bool
	announced bool // the length of its first frame was sent alone
}

func (f *forgetful) Write(p []byte) (int, error) {
	const length, sessionAt = 4, 4 + 4 + 8 + 4
	if len(p) == length { // of a connect request that is sent in two parts
		f.announced = true
		return f.Conn.Write(p)
	}
	at := sessionAt
	if f.announced {
		at -= length
	}
	if !f.asked && len(p) >= at+8 && f.forget.Swap(false) {
		p = append([]byte(nil), p...)
		binary.BigEndian.PutUint64(p[at:], 0)
	}
	f.asked = true
	return f.Conn.Write(p)
}
