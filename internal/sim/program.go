package sim

import (
	"fmt"
	"time"

	"github.com/zklock/zklock/zktest"
)

// Program is one simulation: all that chance decides before it starts. What is
// left to chance afterwards is the order in which goroutines run.
type Program struct {
	Seed       uint64
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
}

// Machine is a process with a session of its own, and a place in the network.
type Machine struct {
	Timeout time.Duration
}

// LockerSpec is a Locker on one machine.
type LockerSpec struct {
	Machine   int
	Path      string
	Ownerless bool
}

// Actor is a goroutine of one machine.
type Actor struct {
	Machine  int
	Sections []Section
}

// Section is a critical section: how its lock is taken, for how long it is held,
// and how it is given back.
type Section struct {
	Locker int
	Pause  time.Duration // before
	Take   Take
	Limit  time.Duration // until the end of its ctx; 0: none; negative: ended before
	Cancel bool          // the ctx ends by cancel, not by deadline
	For    time.Duration // TryLockFor's time
	Hold   time.Duration
	Inner  []Section // while holding
	Leave  Leave
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

// handle tells whether the take returns a Hold instead of making its goroutine
// the owner.
func (t Take) handle() bool { return t == Acquire || t == TryAcquire }

// limited tells whether the take has a ctx.
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

// paths are the lock paths, in the order in which nested sections take them.
var paths = []string{"/locks/a", "/b"}

// faultTime is how long faults go on.
const faultTime = 12 * time.Second

// Generate draws the program of a seed.
func Generate(seed uint64) *Program {
	d := newDice(seed)
	p := &Program{Seed: seed, Cluster: d.cluster()}
	for range 2 + d.IntN(3) {
		ticks := 2 + d.IntN(4)
		p.Machines = append(p.Machines, Machine{Timeout: time.Duration(ticks) * p.Cluster.Tick})
	}
	used := paths[:1+d.IntN(8)/6]
	for m := range p.Machines {
		for _, path := range used {
			for range 1 + d.IntN(4)/3 {
				p.Lockers = append(p.Lockers, LockerSpec{Machine: m, Path: path, Ownerless: d.one(6)})
			}
		}
	}
	for m := range p.Machines {
		for range 1 + d.IntN(5)/2 {
			p.Actors = append(p.Actors, d.actor(p, m))
		}
	}
	p.Foreigners = d.foreigners()
	p.Faults = d.faults(p)
	return p
}

func (d dice) cluster() Cluster {
	c := Cluster{Servers: 1, Tick: d.span(200*time.Millisecond, 500*time.Millisecond)}
	if d.one(2) {
		c.Servers = 3
		c.Between = d.span(0, 3*time.Millisecond)
	}
	if !d.one(4) {
		c.Latency = d.span(0, 10*time.Millisecond)
	}
	if d.one(2) {
		c.Disk = d.span(0, 5*time.Millisecond)
	}
	return c
}

func (d dice) actor(p *Program, machine int) Actor {
	a := Actor{Machine: machine}
	var lockers []int
	for i, l := range p.Lockers {
		if l.Machine == machine {
			lockers = append(lockers, i)
		}
	}
	for range 2 + d.IntN(6) {
		s := d.section(p, lockers[d.IntN(len(lockers))])
		s.Inner = d.inner(p, s, lockers, 0)
		a.Sections = append(a.Sections, s)
	}
	return a
}

func (d dice) section(p *Program, locker int) Section {
	s := Section{
		Locker: locker,
		Pause:  d.short(3 * time.Second),
		Take:   Take(d.weighted([]int{5, 4, 2, 3, 2, 3, 1})),
		Hold:   d.short(3 * time.Second),
		Leave:  Leave(d.weighted([]int{6, 3, 1, 1, 2})),
	}
	if s.Take.limited() {
		switch d.IntN(6) {
		case 0, 1:
			s.Limit, s.Cancel = max(d.short(4*time.Second), time.Millisecond), d.one(2)
		case 2:
			s.Limit, s.Cancel = d.span(1*time.Millisecond, 30*time.Millisecond), true
		case 3:
			if d.one(4) {
				s.Limit = -1
			}
		}
	}
	if s.Take == TryLockFor && !d.one(5) {
		s.For = d.short(4 * time.Second)
	}
	if s.Leave == UnlockElsewhere && !s.Take.handle() && !p.Lockers[locker].Ownerless {
		s.Leave = Unlock
	}
	return s
}

// inner draws the sections within s: the same lock again, where it is reentrant,
// or a lock on a later path, so that no program deadlocks by itself.
func (d dice) inner(p *Program, s Section, lockers []int, depth int) []Section {
	if depth > 2 || !d.one(3) {
		return nil
	}
	var inner []Section
	for range 1 + d.IntN(2) {
		next := lockers[d.IntN(len(lockers))]
		outer := p.Lockers[s.Locker]
		again := next == s.Locker && !outer.Ownerless && s.Take < Do
		if !again && p.Lockers[next].Path <= outer.Path {
			continue
		}
		in := d.section(p, next)
		in.Pause, in.Hold = in.Pause/4, in.Hold/4
		if again && in.Take >= Do {
			in.Take = LockContext
		}
		if again {
			in.Leave = min(in.Leave, UnlockDone)
		}
		in.Inner = d.inner(p, in, lockers, depth+1)
		inner = append(inner, in)
	}
	return inner
}

// options are the ensemble's.
func (c Cluster) options(seed uint64) []zktest.Option {
	return []zktest.Option{
		zktest.WithSeed(int64(seed)),
		zktest.WithTickTime(c.Tick),
		zktest.WithLatency(0, c.Latency),
		zktest.WithServerLatency(0, c.Between),
		zktest.WithDiskLatency(0, c.Disk),
	}
}

func (c Cluster) String() string {
	return fmt.Sprintf("%d servers, tick %v, latency %v, between servers %v, disk %v",
		c.Servers, c.Tick, c.Latency, c.Between, c.Disk)
}
