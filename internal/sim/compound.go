package sim

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"

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
