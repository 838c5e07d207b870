package sim

import (
	"fmt"
	"time"

	"github.com/zklock/zklock/zktest"
)

// Fault is something bad that happens at some time, and for some time.
type Fault struct {
	At      time.Duration
	Kind    FaultKind
	Machine int
	Server  int
	Op      zktest.Op
	For     time.Duration
}

// FaultKind is what happens.
type FaultKind int

// The kinds of faults.
const (
	Expire FaultKind = iota
	Cut
	DropRequest
	DropReply
	HoldRequest
	HoldReply
	BlockToServer
	BlockToClient
	BlockBoth
	Freeze
	Stop
	Lag
	Partition
	CloseSession
	faultKinds
)

// faultTable says what each kind does and how often it is drawn. What inflict
// returns ends the fault.
var faultTable = [faultKinds]struct {
	name    string
	weight  int
	inflict func(w *world, f Fault) (end func())
}{
	Expire:        {"session expires", 4, (*world).expire},
	Cut:           {"connection cut", 6, (*world).cut},
	DropRequest:   {"request lost", 4, (*world).dropRequest},
	DropReply:     {"reply lost", 8, (*world).dropReply},
	HoldRequest:   {"request held", 3, (*world).holdRequest},
	HoldReply:     {"reply held", 3, (*world).holdReply},
	BlockToServer: {"machine cannot send", 3, (*world).blockToServer},
	BlockToClient: {"machine cannot receive", 3, (*world).blockToClient},
	BlockBoth:     {"machine cut off", 3, (*world).blockBoth},
	Freeze:        {"server frozen", 3, (*world).freeze},
	Stop:          {"server killed", 3, (*world).stop},
	Lag:           {"server lags", 3, (*world).lag},
	Partition:     {"server cut off", 3, (*world).partition},
	CloseSession:  {"session closed", 2, (*world).closeSession},
}

func (k FaultKind) String() string { return faultTable[k].name }

func (f Fault) String() string {
	return fmt.Sprintf("%v: machine m%d, server %d, op %v, for %v", f.Kind, f.Machine, f.Server, f.Op, f.For)
}

// lossy are the operations whose requests and replies get lost.
var lossy = []zktest.Op{
	zktest.OpCreate, zktest.OpCreate, zktest.OpCreate, zktest.OpDelete, zktest.OpDelete, zktest.OpGetData,
	zktest.OpGetChildren2, zktest.OpSync, zktest.OpMulti, zktest.OpSetWatches, zktest.OpConnect, zktest.OpCreateContainer,
}

// faults draws a schedule. One program in eight has none.
func (d dice) faults(p *Program) []Fault {
	if d.one(8) {
		return nil
	}
	var weights []int
	for _, entry := range faultTable {
		weights = append(weights, entry.weight)
	}
	var faults []Fault
	for range 1 + d.IntN(8) {
		faults = append(faults, Fault{
			At:      d.span(0, faultTime),
			Kind:    FaultKind(d.weighted(weights)),
			Machine: d.IntN(len(p.Machines)),
			Server:  d.IntN(p.Cluster.Servers),
			Op:      lossy[d.IntN(len(lossy))],
			For:     d.short(4 * time.Second),
		})
	}
	return faults
}

func (w *world) expire(f Fault) func() {
	if id := w.machines[f.Machine].id(); id != 0 {
		w.referee.doom(id)
		w.ensemble.ExpireSession(id)
	}
	return nil
}

func (w *world) cut(f Fault) func() { w.machines[f.Machine].place.Cut(); return nil }

func (w *world) dropRequest(f Fault) func() {
	return w.ensemble.DropRequest(f.Op, zktest.OnClient(w.machines[f.Machine].place)).Release
}

func (w *world) dropReply(f Fault) func() {
	return w.ensemble.DropReply(f.Op, zktest.OnClient(w.machines[f.Machine].place)).Release
}

func (w *world) holdRequest(f Fault) func() {
	return w.ensemble.HoldRequest(f.Op, zktest.OnClient(w.machines[f.Machine].place)).Release
}

func (w *world) holdReply(f Fault) func() {
	return w.ensemble.HoldReply(f.Op, zktest.OnClient(w.machines[f.Machine].place)).Release
}

func (w *world) block(f Fault, ways ...zktest.Direction) func() {
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

func (w *world) blockToServer(f Fault) func() { return w.block(f, zktest.ToServer) }
func (w *world) blockToClient(f Fault) func() { return w.block(f, zktest.ToClient) }
func (w *world) blockBoth(f Fault) func()     { return w.block(f, zktest.ToServer, zktest.ToClient) }

func (w *world) freeze(f Fault) func() {
	s := w.ensemble.Server(f.Server)
	s.Freeze()
	return func() {
		s.Thaw()
		if w.program.Cluster.Servers == 1 && w.ensemble.Leader() == nil {
			s.Stop() // it was frozen when it should have elected itself
			s.Restart()
		}
	}
}

func (w *world) stop(f Fault) func() {
	w.ensemble.Server(f.Server).Stop()
	return w.ensemble.Server(f.Server).Restart
}

func (w *world) lag(f Fault) func() {
	w.ensemble.Server(f.Server).Lag(f.For / 4)
	return func() { w.ensemble.Server(f.Server).Lag(0) }
}

func (w *world) partition(f Fault) func() {
	w.ensemble.Partition(w.ensemble.Server(f.Server))
	return w.ensemble.Heal
}

func (w *world) closeSession(f Fault) func() {
	m := w.machines[f.Machine]
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		m.close(false)
		time.Sleep(f.For / 8)
		m.open(f.Machine)
	}()
	return nil
}
