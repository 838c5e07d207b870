package sim

import (
	"fmt"
	"time"

	"github.com/zklock/zklock/zktest"
)

// Fault is something bad that happens at some time, and for some time.
type Fault struct {
	At      time.Duration
	Moment  Moment        // of the machine, to wait for from At on
	Delay   time.Duration // after the moment
	Kind    FaultKind
	Machine int
	Server  int
	Op      zktest.Op
	For     time.Duration
}

// Moment is something that a fault waits for, to strike where it hurts.
type Moment int

// The moments.
const (
	AnyMoment Moment = iota
	OnCreate         // a node of the machine's has been created
	OnDelete         // ... has been deleted
)

func (m Moment) String() string { return [...]string{"", "on create, ", "on delete, "}[m] }

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
	DeleteNode
	DeletePath
	AddJunk
	EndOfCounter
	JumpClock
	LostBehindLag
	ExpireAtLogin
	CutOffPair
	DeleteUnseen
	DeleteUnlisted
	ExpireInLine
	ReplaceSession
	QuietGap
	PauseLeader
	ListBehindLag
	Sleep
	SetClock
	LateTouches
	LoseHandshake
	RestartBehindProxy
	faultKinds
)

// AllKinds is the focus of a program in which each kind of fault comes by its weight.
const AllKinds = faultKinds

// faultTable says what each kind does and how often it is drawn. What inflict
// returns ends the fault.
var faultTable = [faultKinds]struct {
	name    string
	weight  int
	inflict func(w *world, f Fault) (end func())
}{
	Expire:             {"session expires", 8, (*world).expire},
	Cut:                {"connection cut", 6, (*world).cut},
	DropRequest:        {"request lost", 4, (*world).dropRequest},
	DropReply:          {"reply lost", 8, (*world).dropReply},
	HoldRequest:        {"request held", 3, (*world).holdRequest},
	HoldReply:          {"reply held", 3, (*world).holdReply},
	BlockToServer:      {"machine cannot send", 3, (*world).blockToServer},
	BlockToClient:      {"machine cannot receive", 3, (*world).blockToClient},
	BlockBoth:          {"machine cut off", 3, (*world).blockBoth},
	Freeze:             {"server frozen", 3, (*world).freeze},
	Stop:               {"server killed", 3, (*world).stop},
	Lag:                {"server lags", 3, (*world).lag},
	Partition:          {"server cut off", 3, (*world).partition},
	CloseSession:       {"session closed", 2, (*world).closeSession},
	DeleteNode:         {"operator deletes a lock node", 3, (*world).deleteNode},
	DeletePath:         {"operator deletes the path", 2, (*world).deletePath},
	AddJunk:            {"foreign children", 1, (*world).addJunk},
	EndOfCounter:       {"counter near its end", 1, (*world).endOfCounter},
	JumpClock:          {"server's clock jumps", 1, (*world).jumpClock},
	LostBehindLag:      {"create's reply lost, the others lag", 2, (*world).lostBehindLag},
	ExpireAtLogin:      {"session expires while logging in", 3, (*world).expireAtLogin},
	CutOffPair:         {"machine and its server cut off", 9, (*world).cutOffPair},
	DeleteUnseen:       {"operator deletes the nodes of a machine that is cut off", 4, (*world).deleteUnseen},
	DeleteUnlisted:     {"operator deletes a node before its owner sees it in a list", 3, (*world).deleteUnlisted},
	ExpireInLine:       {"session expires with several in line", 6, (*world).expireInLine},
	ReplaceSession:     {"session replaced without a word", 3, (*world).replaceSession},
	QuietGap:           {"follower cut off after a quiet gap", 4, (*world).quietGap},
	PauseLeader:        {"leader paused", 4, (*world).pauseLeader},
	LoseHandshake:      {"handshake's answer lost, then cut off", 8, (*world).loseHandshake},
	RestartBehindProxy: {"server restarted behind a proxy, one handshake never answered", 3, (*world).restartBehindProxy},
	ListBehindLag:      {"list lost after an event, another server lags", 6, (*world).listBehindLag},
	Sleep:              {"machine sleeps", 4, (*world).sleep},
	SetClock:           {"machine's clock is set", 1, (*world).setClock},
	LateTouches:        {"leader paused, then a follower's touches lost", 9, (*world).lateTouches},
}

func (k FaultKind) String() string { return faultTable[k].name }

func (f Fault) String() string {
	return fmt.Sprintf("%v: %vmachine m%d, server %d, op %v, for %v", f.Kind, f.Moment, f.Machine, f.Server, f.Op, f.For)
}

// lossy are the operations whose requests and replies get lost.
var lossy = []zktest.Op{
	zktest.OpCreate, zktest.OpCreate, zktest.OpCreate, zktest.OpDelete, zktest.OpDelete, zktest.OpGetData,
	zktest.OpGetChildren2, zktest.OpSync, zktest.OpMulti, zktest.OpSetWatches, zktest.OpConnect, zktest.OpCreateContainer, zktest.OpAuth,
}

// faults draws a schedule. One program in eight has none.
func (d dice) faults(p *Program, focus FaultKind) []Fault {
	if d.one(8) {
		return nil
	}
	var weights []int
	for _, entry := range faultTable {
		weights = append(weights, entry.weight)
	}
	// The end of the counter heals only while nobody else keeps children there.
	// Other libraries do not know of it, and give up at the sight of junk.
	if d.one(2) || len(p.Foreigners) > 0 {
		weights[AddJunk] = 0
	}
	if weights[AddJunk] > 0 || len(p.Foreigners) > 0 {
		weights[EndOfCounter] = 0
	}
	if p.Cluster.Servers == 1 {
		weights[QuietGap], weights[ListBehindLag], weights[LateTouches] = 0, 0, 0
	}
	if focus != AllKinds && weights[focus] > 0 {
		weights[focus] = sum(weights)
	}
	var faults []Fault
	for range 1 + d.IntN(10) {
		f := Fault{
			At:      d.span(0, faultTime),
			Kind:    FaultKind(d.weighted(weights)),
			Machine: d.IntN(len(p.Machines)),
			Server:  d.IntN(p.Cluster.Servers),
			Op:      lossy[d.IntN(len(lossy))],
			For:     d.short(4 * time.Second),
		}
		d.prepare(p, f)
		if d.one(2) {
			f.Moment, f.Delay = Moment(d.weighted([]int{0, 3, 1})), d.short(50*time.Millisecond)
		}
		faults = append(faults, f)
	}
	return faults
}

// prepare gives a machine what it needs for the fault to hurt.
func (d dice) prepare(p *Program, f Fault) {
	m := &p.Machines[f.Machine]
	switch f.Kind {
	case ExpireAtLogin:
		m.Auth = true
	case LateTouches: // the longer the tick, the older the touches
		m.Timeout = 2 * p.Cluster.Tick
	case QuietGap, Sleep: // the servers round a session's end up to a tick
		m.Timeout = time.Duration(3+d.IntN(6)) * p.Cluster.Tick
	case ListBehindLag:
		p.addSemaphores()
	case LoseHandshake: // no server grants less than a quarter of what another does
		m.Timeout = time.Duration(leastTicks+d.IntN(4)) * p.Cluster.Tick
		for i := range p.Machines {
			p.Machines[i].Timeout = min(p.Machines[i].Timeout, m.Timeout)
		}
	}
}
