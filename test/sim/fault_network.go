package sim

import (
	"time"

	"github.com/zklock/zklock/zktest"
)

// onWire strikes the next request or reply of a machine.
func onWire(arm func(*zktest.Ensemble, zktest.Op, ...zktest.Filter) *zktest.Fault) func(*world, Fault) func() {
	return func(w *world, f Fault) func() {
		return arm(w.ensemble, f.Op, zktest.OnClient(w.machines[f.Machine].place)).Release
	}
}

func (w *world) cut(f Fault) func() { w.machines[f.Machine].place.Cut(); return nil }

// blocking blocks a machine's way to the servers, from them, or both.
func blocking(ways ...zktest.Direction) func(*world, Fault) func() {
	return func(w *world, f Fault) func() {
		place := w.machines[f.Machine].place
		for _, way := range ways {
			if f.Op == zktest.OpCreate { // some of the partitions are of one server only
				place.Block(way, w.ensemble.Server(f.Server))
			} else {
				place.Block(way)
			}
		}
		return func() { place.Unblock() }
	}
}

// cutOffPair leaves a machine with the one server that it is connected to, which
// answers its pings and has no majority.
func (w *world) cutOffPair(f Fault) func() {
	m := w.machines[f.Machine]
	server := w.serverOf(m)
	if server == nil {
		return nil
	}
	w.ensemble.Partition(server)
	w.leaveWith(m, server)
	return func() {
		m.place.Unblock()
		w.ensemble.Heal()
	}
}

func (w *world) freeze(f Fault) func() {
	s := w.ensemble.Server(f.Server)
	s.Freeze()
	return s.Thaw
}

// pauseLeader stops the leader for no longer than its followers wait for it. A machine, which
// may hold nothing, asks for its locks meanwhile: at any time in a short pause; in a longer one late
// enough to have an answer in time, and too early for a write to seem quick, which could not show
// what the session is worth (the README's third exception).
func (w *world) pauseLeader(f Fault) func() {
	leader := w.ensemble.Leader()
	if leader == nil {
		return nil
	}
	m, d, lasts := w.machines[f.Machine], w.dice(f), min(f.For, w.followersWait())
	leader.Freeze()
	asked := d.span(0, lasts)
	if timeout := m.timeout(); lasts >= 2*timeout/5 {
		asked = lasts - timeout/128 - d.span(0, timeout/10)
	}
	w.later(asked, func() { w.ask(m, Section{Take: Acquire, Permits: 1, Hold: d.short(time.Second)}) })
	w.work.Go(func() {
		time.Sleep(lasts)
		leader.Thaw()
	})
	return nil
}

// followersWait is for how long they do for their leader.
func (w *world) followersWait() time.Duration {
	return time.Duration(w.program.Cluster.SyncLimit) * w.program.Cluster.Tick
}

func (w *world) stop(f Fault) func() {
	server := w.ensemble.Server(f.Server)
	server.Stop()
	return func() { w.restart(server) }
}

// restart starts a server again, unless all are away: they come back together.
func (w *world) restart(s *zktest.Server) {
	w.away.Lock()
	defer w.away.Unlock()
	if !w.gone {
		s.Restart()
	}
}

func (w *world) lag(f Fault) func() {
	w.ensemble.Server(f.Server).Lag(f.For / 4)
	return func() { w.ensemble.Server(f.Server).Lag(0) }
}

func (w *world) partition(f Fault) func() {
	w.ensemble.Partition(w.ensemble.Server(f.Server))
	return w.ensemble.Heal
}

// jumpClock makes the leader end sessions early, which no lock can see coming.
func (w *world) jumpClock(f Fault) func() {
	if leader := w.ensemble.Leader(); leader != nil {
		w.checker.doomAll(w.ensemble.Sessions())
		leader.JumpClock(f.For / 4)
	}
	return nil
}

// lostBehindLag has a machine look for the node of a lost create on a server that
// does not know of it yet.
func (w *world) lostBehindLag(f Fault) func() {
	lag := f.For/8 + 20*time.Millisecond
	for _, s := range w.ensemble.Servers() {
		s.Lag(lag)
	}
	lost := w.ensemble.DropReply(zktest.OpCreate, zktest.OnClient(w.machines[f.Machine].place))
	w.crowd(f)
	return func() {
		lost.Release()
		for _, s := range w.ensemble.Servers() {
			s.Lag(0)
		}
	}
}

// listBehindLag has a machine stand in line for permits behind another, and loses the
// list that it asks for when an event has told it that its turn has come. Its next
// connection is one to a server that does not know yet what the event told.
func (w *world) listBehindLag(f Fault) func() {
	m := w.machines[f.Machine]
	late := w.otherFollower(m, f.Server)
	if late == nil {
		return nil
	}
	lag, hold := f.For/32+5*time.Millisecond, f.For/8
	late.Lag(lag)
	for _, s := range w.ensemble.Servers() {
		s.Refuse(s != late)
	}
	inLine := func(at int, n int) {
		w.ask(w.machines[at%len(w.machines)], Section{Take: Acquire, Permits: n, Hold: hold})
		time.Sleep(2 * w.program.Cluster.Latency)
	}
	inLine(f.Machine+1, 1)
	inLine(f.Machine+2, permits) // keeps the turn until the one is given back
	inLine(f.Machine, permits-1)
	lost := w.ensemble.DropRequest(zktest.OpGetChildren2, zktest.OnClient(m.place), zktest.OnPath(permitsPath+"/leases"))
	return func() {
		lost.Release()
		late.Lag(0)
		for _, s := range w.ensemble.Servers() {
			s.Refuse(false)
		}
	}
}

// otherFollower returns a follower that m is not connected to, the nth of them; nil if
// there is none.
func (w *world) otherFollower(m *machine, n int) *zktest.Server {
	leader, mine := w.ensemble.Leader(), w.serverOf(m)
	var others []*zktest.Server
	for _, s := range w.ensemble.Servers() {
		if s != leader && s != mine {
			others = append(others, s)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return others[n%len(others)]
}

// leaveWith keeps a machine from all servers but one.
func (w *world) leaveWith(m *machine, server *zktest.Server) {
	for _, other := range w.ensemble.Servers() {
		if other != server {
			m.place.Block(zktest.ToServer, other)
		}
	}
}

// cutOff keeps a client from everybody.
func cutOff(place *zktest.Client) {
	place.Block(zktest.ToServer)
	place.Block(zktest.ToClient)
}

// serverOf returns the server that a machine is connected to, nil if there is none.
func (w *world) serverOf(m *machine) *zktest.Server {
	for _, s := range w.ensemble.Sessions() {
		if s.ID == m.id() {
			return s.Server
		}
	}
	return nil
}

// refuse makes the servers but one refuse new connections, or take them again.
func (w *world) refuse(on bool, but *zktest.Server) {
	for _, s := range w.ensemble.Servers() {
		if s != but {
			s.Refuse(on)
		}
	}
}
