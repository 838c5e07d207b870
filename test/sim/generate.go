package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zklock/zklock/zktest"
)

// Generate draws the program of a seed. The kind of fault that is in focus comes as
// often as all the others together, and has the three servers that some need.
func Generate(seed uint64, focus FaultKind) *Program {
	d := newDice(seed)
	p := &Program{Seed: seed, Focus: focus, Cluster: d.cluster()}
	if focus != AllKinds {
		p.Cluster.Servers = 3
	}
	for range 2 + d.IntN(3) {
		ticks := []int{2, 2, 2, 2, 3, 3, 4, 8, 20, 40, 2 + d.IntN(7), 2 + d.IntN(39)}[d.IntN(12)]
		p.Machines = append(p.Machines, Machine{Timeout: time.Duration(ticks) * p.Cluster.Tick, Auth: d.one(3)})
	}
	p.Lockers = d.lockers(p)
	for m := range p.Machines {
		for range 1 + d.IntN(5)/2 {
			p.Actors = append(p.Actors, d.actor(p, m))
		}
	}
	p.Foreigners = d.foreigners()
	p.Faults = d.faults(p, focus)
	return p
}

func (d dice) cluster() Cluster {
	c := Cluster{Servers: 1, Tick: d.span(200*time.Millisecond, 500*time.Millisecond)}
	if !d.one(3) {
		c.Servers = 3
		c.Between = d.span(0, 3*time.Millisecond)
	}
	if !d.one(4) {
		c.Latency = d.span(0, 10*time.Millisecond)
	}
	if d.one(2) {
		c.Disk = d.span(0, 5*time.Millisecond)
	}
	if d.one(3) {
		c.Drift = 0.001
	}
	if d.one(4) {
		c.Slow = float64(1+d.IntN(9)) / 1000 // the design assumes less than 1 %
	}
	c.SyncLimit = []int{2, 5, 10}[d.IntN(3)]
	return c
}

// lockers draws the locks of all machines. Most programs have Lockers only, on
// one path, where contention is highest.
func (d dice) lockers(p *Program) []LockerSpec {
	used := paths[:1+d.IntN(8)/6]
	mixed := d.one(2)
	several := d.one(6)
	options := d.options()
	var lockers []LockerSpec
	add := func(l LockerSpec) int {
		for _, option := range options {
			option(&l)
		}
		lockers = append(lockers, l)
		return len(lockers) - 1
	}
	for m := range p.Machines {
		for _, path := range used {
			for range 1 + d.IntN(4)/3 {
				l := LockerSpec{Machine: m, Path: path, Ownerless: d.one(6)}
				if mixed && d.IntN(3) > 0 {
					l.Kind = ReadWrite
				}
				add(l)
			}
		}
		if mixed && d.one(2) {
			add(LockerSpec{Machine: m, Kind: Permits, Path: permitsPath})
		}
		if several {
			l := LockerSpec{Machine: m, Kind: Several, Path: paths[0], Ownerless: d.one(4)}
			apart := d.one(2)
			for i, path := range paths {
				l.Of = append(l.Of, add(LockerSpec{Machine: m, Path: path, Ownerless: l.Ownerless, Apart: apart && i > 0}))
			}
			lockers = append(lockers, l)
		}
	}
	return lockers
}

// options draws which options the locks of a program may have.
func (d dice) options() (options []func(*LockerSpec)) {
	if d.one(3) {
		options = append(options, d.share)
	}
	if d.one(4) {
		options = append(options, d.rest)
	}
	if d.one(4) {
		options = append(options, d.dress)
	}
	if d.one(4) {
		options = append(options, d.grace)
	}
	return options
}

// share has owners of l in one process pass a node on.
func (d dice) share(l *LockerSpec) {
	l.Handoff = d.IntN(4)
	l.Retention = d.retention()
}

// rest gives most locks a minimum, from which no node is handed on.
func (d dice) rest(l *LockerSpec) {
	if !l.handsOn() && !d.one(3) {
		l.MinHold = d.short(longestRest)
	}
}

// grace gives most locks a grace after a loss: a short one, or one that outlasts sessions.
func (d dice) grace(l *LockerSpec) {
	if !d.one(3) {
		l.LossGrace = d.short([]time.Duration{4 * time.Second, 4 * time.Second, 4 * calmly}[d.IntN(3)])
	}
}

// dress draws what the nodes say, and who may write on them: of a semaphore everybody has to.
func (d dice) dress(l *LockerSpec) {
	l.Data = []string{"", "owner", "__REVOKE__D"}[d.IntN(3)]
	l.Guarded = l.Kind != Permits && d.one(2)
}

// retention draws for how long a node is kept: not at all, for a while, or for
// longer than others who ask for the lock can wait.
func (d dice) retention() time.Duration {
	switch d.IntN(6) {
	case 0, 1:
		return d.short(2 * time.Second)
	case 2:
		return 2 * calmly
	}
	return 0
}

func (d dice) actor(p *Program, machine int) Actor {
	a := Actor{Machine: machine}
	var lockers []int
	for i, l := range p.Lockers {
		if l.Machine == machine {
			lockers = append(lockers, i)
		}
	}
	for range 3 + d.IntN(7) {
		s := d.section(p, lockers[d.IntN(len(lockers))])
		s.Stale = d.one(8)
		d.fill(p, &s, lockers, 0)
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
	s.Fence = !p.shares(p.Lockers[locker]) || d.one(4)
	d.suit(&s, p.Lockers[locker])
	if s.Take.limited() {
		d.limit(&s)
		if d.one(20) {
			s.Panics = Enqueued + Position(d.IntN(3))
		}
	}
	if s.Take == TryLockFor && !d.one(5) {
		s.For = d.short(4 * time.Second)
	}
	return s
}

// suit makes s a section that its lock can have.
func (d dice) suit(s *Section, l LockerSpec) {
	switch {
	case l.Kind == Permits:
		s.Permits = 1 + d.IntN(permits)
		s.Take = []Take{Do, Acquire, Acquire, TryAcquire}[d.IntN(4)]
	case l.Kind == ReadWrite:
		s.Read = d.one(2)
		s.Downgrade = !s.Read && !l.Ownerless && s.Take < Do && d.one(3)
	case l.Kind == Several && s.Take == TryAcquire:
		s.Take = Acquire
	}
	if s.Leave == UnlockElsewhere && !s.Take.handle() && !l.Ownerless {
		s.Leave = Unlock
	}
}

func (d dice) limit(s *Section) {
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

// fill draws the sections within s.
func (d dice) fill(p *Program, s *Section, lockers []int, depth int) {
	s.Inner = d.inner(p, *s, lockers, depth)
	if s.Downgrade {
		s.Reading = d.inner(p, *s, lockers, depth)
	}
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
		if !again && (p.Lockers[next].Path <= outer.Path || outer.Kind == Several) {
			continue
		}
		in := d.section(p, next)
		in.Pause, in.Hold = in.Pause/4, in.Hold/4
		if again {
			in.Leave = min(in.Leave, UnlockDone)
			if in.Take >= Do {
				in.Take = LockContext
			}
		}
		d.fill(p, &in, lockers, depth+1)
		inner = append(inner, in)
	}
	return inner
}

// foreigner draws one, for one program in four.
func (d dice) foreigners() []Foreigner {
	if !d.one(4) {
		return nil
	}
	f := Foreigner{Writer: d.one(2), Path: paths[0]}
	for range 1 + d.IntN(4) {
		f.Rounds = append(f.Rounds, Round{d.short(3 * time.Second), d.short(time.Second)})
	}
	if f.Other = !f.Writer && d.one(2); f.Other {
		f.Stem = d.among(stems)
	}
	return []Foreigner{f}
}

// lossy are the operations whose requests and replies get lost.
var lossy = []zktest.Op{
	zktest.OpCreate, zktest.OpCreate, zktest.OpCreate, zktest.OpDelete, zktest.OpDelete, zktest.OpGetData,
	zktest.OpGetChildren2, zktest.OpSync, zktest.OpMulti, zktest.OpSetWatches, zktest.OpConnect, zktest.OpAuth,
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
	if len(p.Foreigners) > 0 { // which wait for such a node for ever
		weights[KeepForGood] = 0
	}
	if p.Cluster.Servers == 1 {
		for _, kind := range []FaultKind{QuietGap, ListBehindLag, LateTouches, ArriveLate, IdleHandshake, KeepForGood} {
			weights[kind] = 0
		}
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
	case LoseHold:
		for i := range p.Lockers {
			if l := &p.Lockers[i]; l.Machine == f.Machine && l.Kind != Several {
				d.grace(l)
			}
		}
	case WaitLong:
		p.addWaiting()
	case RenewQueue:
		p.Lockers = append(p.Lockers, LockerSpec{Machine: f.Machine, Path: paths[0]})
	case Withdraw:
		if d.one(2) {
			p.addSemaphores()
		}
	case DeleteMidway:
		p.addSemaphores()
		p.addReadWrite(f.Machine)
	case LoseHandshake, GrantLess, IdleHandshake: // no server grants less than a quarter of what another does
		m.Timeout = time.Duration(leastTicks+d.IntN(4)) * p.Cluster.Tick
		for i := range p.Machines {
			p.Machines[i].Timeout = min(p.Machines[i].Timeout, m.Timeout)
		}
	}
}

// addSemaphores gives one to each machine that has none.
func (p *Program) addSemaphores() {
	for m := range p.Machines {
		has := func(l LockerSpec) bool { return l.Machine == m && l.Kind == Permits }
		if !slices.ContainsFunc(p.Lockers, has) {
			p.Lockers = append(p.Lockers, LockerSpec{Machine: m, Kind: Permits, Path: permitsPath})
		}
	}
}

// addWaiting adds the machine that only waits, if there is none.
func (p *Program) addWaiting() {
	if !slices.ContainsFunc(p.Machines, func(m Machine) bool { return m.Waits }) {
		m := len(p.Machines)
		p.Lockers = append(p.Lockers, LockerSpec{Machine: m, Path: paths[0]}, LockerSpec{Machine: m, Path: keptPath, Retention: 2 * calmly})
		p.Machines = append(p.Machines, Machine{Timeout: 2 * p.Cluster.Tick, Waits: true})
	}
}

// addReadWrite gives a machine a lock that can be downgraded.
func (p *Program) addReadWrite(m int) {
	p.Lockers = append(p.Lockers, LockerSpec{Machine: m, Kind: ReadWrite, Path: paths[0]})
}

// dice is where a program's chance comes from.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x5eed))} }

// one is true once in n times.
func (d dice) one(n int) bool { return d.IntN(n) == 0 }

// span draws a duration between the bounds, in whole milliseconds so that
// timelines are readable.
func (d dice) span(shortest, longest time.Duration) time.Duration {
	ms := int64((longest-shortest)/time.Millisecond) + 1
	return shortest + time.Duration(d.Int64N(ms))*time.Millisecond
}

// short draws a duration up to longest, most often a small part of it.
func (d dice) short(longest time.Duration) time.Duration {
	return d.span(0, longest>>d.IntN(7))
}

// among draws one of the list.
func (d dice) among(list []string) string { return list[d.IntN(len(list))] }

// weighted draws an index by the weights.
func (d dice) weighted(weights []int) int {
	n := d.IntN(sum(weights))
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("unreachable")
}

func sum(weights []int) (total int) {
	for _, w := range weights {
		total += w
	}
	return total
}
