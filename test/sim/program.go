package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/zklock/zklock/zktest"
)

// Program is one simulation: all that chance decides before it starts. What is
// left to chance afterwards is the order in which goroutines run.
type Program struct {
	Seed       uint64
	Focus      FaultKind // as for Generate
	Cluster    Cluster
	Machines   []Machine
	Lockers    []LockerSpec
	Actors     []Actor
	Foreigners []Foreigner
	Faults     []Fault
}

// Cluster is the ensemble.
type Cluster struct {
	Servers          int
	Tick             time.Duration
	Latency, Between time.Duration // at most, of a client's frame and of a server's message
	Disk             time.Duration // at most, of a log write
	Drift            float64       // by how much the servers' clocks run fast
	Slow             float64       // by how much they run slow, in longer ticks
	SyncLimit        int           // ticks for which followers wait for their leader
}

// options are the ensemble's.
func (c Cluster) options(seed uint64) []zktest.Option {
	tick := time.Duration(float64(c.Tick) * (1 + c.Slow))
	return []zktest.Option{
		zktest.WithSeed(int64(seed)),
		zktest.WithTickTime(tick),
		zktest.WithLatency(0, c.Latency),
		zktest.WithServerLatency(0, c.Between),
		zktest.WithDiskLatency(0, c.Disk),
		zktest.WithSessionTimeouts(2*tick, longestTicks*tick),
		zktest.WithSyncLimit(c.SyncLimit),
	}
}

func (c Cluster) String() string {
	return fmt.Sprintf("%d servers, tick %v, latency %v, between servers %v, disk %v, drift %g, slow by %g, sync limit %d",
		c.Servers, c.Tick, c.Latency, c.Between, c.Disk, c.Drift, c.Slow, c.SyncLimit)
}

// Machine is a process with a session of its own, and a place in the network.
type Machine struct {
	Timeout time.Duration
	Auth    bool // its session logs in
	Waits   bool // it has no actors: nobody of it asks for a lock, but where a fault has them wait
}

// LockerSpec is a lock on one machine.
type LockerSpec struct {
	Machine   int
	Kind      LockKind
	Path      string
	Ownerless bool
	Handoff   int           // as WithHandoff
	Retention time.Duration // as WithRetention
	MinHold   time.Duration // as WithMinHold
	LossGrace time.Duration // as WithLossGrace
	Data      string        // as WithData; "" without
	Guarded   bool          // as WithACL: only a session that logs in may write on its nodes
	Apart     bool          // it is of another session of its machine
	Of        []int         // a MultiLocker's Lockers, each of which is used alone, too
}

// handsOn reports whether the lock has the options by which a Locker hands a node on.
func (l LockerSpec) handsOn() bool { return l.Handoff > 1 || l.Retention > 0 }

// shares reports whether owners of the lock in one process pass a node on. Other locks than
// Lockers do not, whatever their options.
func (p *Program) shares(l LockerSpec) bool {
	return l.Kind == Mutex && l.handsOn() ||
		slices.ContainsFunc(l.Of, func(i int) bool { return p.shares(p.Lockers[i]) })
}

// LockKind is what the lock is.
type LockKind int

// The kinds of locks.
const (
	Mutex LockKind = iota
	ReadWrite
	Permits
	Several // Lockers on all paths as one
)

func (k LockKind) String() string {
	return [...]string{"Locker", "RWLocker", "Semaphore", "MultiLocker"}[k]
}

// Actor is a goroutine of one machine.
type Actor struct {
	Machine  int
	Sections []Section
}

// Section is a critical section: how its lock is taken, for how long it is held,
// and how it is given back.
type Section struct {
	Locker    int
	Pause     time.Duration // before
	Stale     bool          // by the session that the last one had, be it closed or not
	Take      Take
	Read      bool          // of an RWLocker
	Permits   int           // of a Semaphore
	Limit     time.Duration // until the end of its ctx; 0: none; negative: ended before
	Cancel    bool          // the ctx ends by cancel, not by deadline
	For       time.Duration // TryLockFor's time
	Hold      time.Duration
	Inner     []Section // while holding
	Fence     bool      // ask for the fencing token, which keeps the node from being shared
	Downgrade bool      // of an RWLocker: go on reading when the write lock is given back
	Reading   []Section // while reading on
	Leave     Leave
	Panics    Position // the function of the trace that panics when the lock is taken
}

// looks reports whether the section asks ZooKeeper. It needs no draw of its own,
// so that seeds keep their programs.
func (s Section) looks() bool { return s.Fence && s.Hold/time.Millisecond%4 == 1 }

// Position is a function of the trace that the goroutine of a call runs.
type Position int

// The functions of the trace.
const (
	Nowhere Position = iota
	Enqueued
	Acquired
	Failed
)

func (p Position) String() string {
	return [...]string{"nowhere", "Enqueued", "Acquired", "Failed"}[p]
}

// Take is a way to take a lock.
type Take int

// The ways to take a lock.
const (
	Lock Take = iota
	LockContext
	TryLock
	TryLockFor
	Do
	Acquire
	TryAcquire
)

func (t Take) String() string {
	return [...]string{"Lock", "LockContext", "TryLock", "TryLockFor", "Do", "Acquire", "TryAcquire"}[t]
}

// handle reports whether the take returns a Hold instead of making its goroutine
// the owner.
func (t Take) handle() bool { return t == Acquire || t == TryAcquire }

// limited reports whether the take has a ctx.
func (t Take) limited() bool { return t != Lock && t != TryLock }

// Leave is a way to give a lock back. A handle is always given back by Release.
type Leave int

// The ways to give a lock back.
const (
	Unlock          Leave = iota
	UnlockContext         // with a ctx that does not end
	UnlockImpatient       // with a ctx that ends soon
	UnlockDone            // with a ctx that has ended
	UnlockElsewhere       // by another goroutine, where that is allowed
)

func (l Leave) String() string {
	return [...]string{"Unlock", "UnlockContext", "UnlockContext(short)", "UnlockContext(done)", "Unlock elsewhere"}[l]
}

// Foreigner takes locks by other means than this library.
type Foreigner struct {
	Writer bool   // a reader/writer lock's writer that downgrades, instead of zk.Lock
	Other  bool   // a lock of a library that is not known, likewise
	Stem   string // of its nodes
	Path   string
	Rounds []Round
}

// Round is one critical section of a foreigner.
type Round struct{ Pause, Hold time.Duration }

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

func (f Fault) String() string {
	return fmt.Sprintf("%v: %vmachine m%d, server %d, op %v, for %v", f.Kind, f.Moment, f.Machine, f.Server, f.Op, f.For)
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

// paths are the lock paths, in the order in which nested sections take them.
// Semaphores have one for themselves.
var paths = []string{"/a", "/b/c"}

const (
	ownPath     = "/own" // below which each machine has locks that no other asks for
	keptPath    = ownPath + "/kept"
	permitsPath = "/s"
	permits     = 3 // of a semaphore
)

// longestTicks is the longest session timeout.
const longestTicks = 40

// longestRest is the longest minimum of a hold.
const longestRest = 2 * time.Second

// faultTime is how long faults go on.
const faultTime = 8 * time.Second

// calmly is how long those who ask for a lock when all is calm have for it.
const calmly = 20 * time.Second

// leastTicks is how long the timeout of a session must be so that a server may
// grant three tenths of it.
const leastTicks = 7

// longestVisit is how long a zk.Lock is waited for.
const longestVisit = 20 * time.Second
