package sim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/zktest"
)

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
	WriteOnNodes
	DeleteMidway
	DeleteBeforeList
	ArriveLate
	GrantLess
	AskBack
	Withdraw
	RefuseOne
	RefuseMany
	RefuseWatch
	LoseHold
	LoseData
	WaitLong
	RenewQueue
	IdleHandshake
	KeepForGood
	WrongList
	faultKinds
)

// AllKinds is the focus of a program in which each kind of fault comes by its weight.
const AllKinds = faultKinds

// faultTable says what each kind does and how often it is drawn. What inject
// returns ends the fault.
var faultTable = [faultKinds]struct {
	name   string
	weight int
	inject func(w *world, f Fault) (end func())
}{
	Expire:             {"session expires", 8, (*world).expire},
	Cut:                {"connection cut", 6, (*world).cut},
	DropRequest:        {"request lost", 4, onWire((*zktest.Ensemble).DropRequest)},
	DropReply:          {"reply lost", 8, onWire((*zktest.Ensemble).DropReply)},
	HoldRequest:        {"request held", 3, onWire((*zktest.Ensemble).HoldRequest)},
	HoldReply:          {"reply held", 3, onWire((*zktest.Ensemble).HoldReply)},
	BlockToServer:      {"machine cannot send", 3, blocking(zktest.ToServer)},
	BlockToClient:      {"machine cannot receive", 3, blocking(zktest.ToClient)},
	BlockBoth:          {"machine cut off", 3, blocking(zktest.ToServer, zktest.ToClient)},
	Freeze:             {"server frozen", 3, (*world).freeze},
	Stop:               {"server killed", 3, (*world).stop},
	Lag:                {"server lags", 3, (*world).lag},
	Partition:          {"server cut off", 3, (*world).partition},
	CloseSession:       {"session closed or shut down", 5, (*world).closeSession},
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
	WriteOnNodes:       {"somebody writes on lock nodes", 3, (*world).writeOnNodes},
	DeleteMidway:       {"operator deletes a node in the middle of a downgrade or a turn", 3, (*world).deleteMidway},
	DeleteBeforeList:   {"operator deletes a node between an event and the list", 3, (*world).deleteBeforeList},
	ArriveLate:         {"requests arrive late by an old server", 3, (*world).arriveLate},
	GrantLess:          {"server grants less than the others", 3, (*world).grantLess},
	AskBack:            {"locks are asked back", 8, (*world).askBack},
	Withdraw:           {"operator takes permissions away", 6, (*world).withdraw},
	RefuseOne:          {"request refused", 4, (*world).refuseOne},
	RefuseMany:         {"requests refused for a while", 4, (*world).refuseMany},
	RefuseWatch:        {"watches refused, then locks asked back", 3, (*world).refuseWatch},
	LoseHold:           {"hold lost while its session lives", 4, (*world).loseHold},
	LoseData:           {"servers lose their data", 2, (*world).loseData},
	WaitLong:           {"session waits long and gives up a place", 3, (*world).waitLong},
	RenewQueue:         {"operator deletes a queue behind a grant, and others make it anew", 3, (*world).renewQueue},
	IdleHandshake:      {"idle session's handshake unanswered, then it locks and is cut off", 4, (*world).idleHandshake},
	KeepForGood:        {"follower keeps a node for good that the leader has not", 3, (*world).keepForGood},
	WrongList:          {"somebody asks with an access list that keeps him out", 3, (*world).wrongList},
}

func (k FaultKind) String() string { return faultTable[k].name }

// hurts reports whether anybody may lose something by it.
func (k FaultKind) hurts() bool { return k != AskBack && k != WaitLong && k != WrongList }

// ofMachine are the kinds that cost nobody of another machine anything but time.
var ofMachine = []FaultKind{
	Expire, Cut, DropRequest, DropReply, HoldRequest, HoldReply, BlockToServer, BlockToClient, BlockBoth,
	CloseSession, ExpireAtLogin, ExpireInLine, ReplaceSession, Sleep, SetClock,
}

// injectFaults injects the faults and ends them; false if a promise was broken.
func (w *world) injectFaults() bool {
	faults := slices.SortedFunc(slices.Values(w.program.Faults), func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	for _, f := range faults {
		if f.Kind != LoseData {
			w.pending.Add(1)
		}
	}
	var struck sync.WaitGroup
	start := time.Now()
	for _, f := range faults {
		select {
		case <-time.After(time.Until(start.Add(f.At))):
			struck.Go(func() { w.inject(f) })
		case <-w.checker.broken:
			return false
		}
	}
	select {
	case <-done(&struck):
		return true
	case <-w.checker.broken:
		return false
	}
}

// inject waits for the fault's moment, a few seconds at most, injects the fault,
// and ends it when its time is over.
func (w *world) inject(f Fault) {
	if f.Kind != LoseData {
		defer w.pending.Add(-1)
	}
	if f.Moment != AnyMoment {
		const wait = 3 * time.Second
		select {
		case <-w.checker.await(f.Moment, w.machines[f.Machine].id()):
		case <-w.ctx.Done():
			return
		case <-time.After(wait):
			return
		}
		time.Sleep(f.Delay)
	}
	if w.ctx.Err() != nil {
		return
	}
	if f.Kind.hurts() {
		w.checker.storm(f)
	}
	w.log.note("FAULT", "%v", f)
	w.stats.Faults[f.Kind].Add(1)
	end := faultTable[f.Kind].inject(w, f)
	if end == nil {
		return
	}
	pause(w.ctx, f.For)
	w.log.note("FAULT", "end of: %v", f)
	end()
}

// dice returns where a fault's own chance comes from.
func (w *world) dice(f Fault) dice { return newDice(w.program.Seed ^ uint64(f.At+f.Delay)) }

// later calls f when d has passed or the world ends.
func (w *world) later(d time.Duration, f func()) {
	w.work.Go(func() {
		pause(w.ctx, d)
		f()
	})
}

// moments are what faults wait for.
type moments map[moment][]chan struct{}

type moment struct {
	kind    zktest.Kind
	session int64
}

// reach wakes those who wait for a change like this.
func (ms moments) reach(c zktest.Change) {
	m := moment{c.Kind, c.Owner}
	for _, waiting := range ms[m] {
		close(waiting)
	}
	delete(ms, m)
}

// await returns a channel that closes at the session's next moment of that kind.
func (ck *checker) await(what Moment, session int64) <-chan struct{} {
	reached := make(chan struct{})
	m := moment{zktest.NodeCreated, session}
	if what == OnDelete {
		m.kind = zktest.NodeDeleted
	}
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.moments[m] = append(ck.moments[m], reached)
	return reached
}
