package sim

import (
	"slices"
	"time"
)

// calmly is how long those who ask for a lock when all is calm have for it.
const calmly = 20 * time.Second

// lockers draws the locks of all machines. Most programs have Lockers only, on
// one path, where contention is highest.
func (d dice) lockers(p *Program) []LockerSpec {
	used := paths[:1+d.IntN(8)/6]
	mixed := d.one(2)
	several := d.one(8)
	shared := d.one(3)
	var lockers []LockerSpec
	for m := range p.Machines {
		for _, path := range used {
			for range 1 + d.IntN(4)/3 {
				l := LockerSpec{Machine: m, Path: path, Ownerless: d.one(6)}
				if mixed && d.IntN(3) > 0 {
					l.Kind = ReadWrite
				} else if shared {
					l.Handoff = d.IntN(4)
					l.Retention = d.retention()
				}
				lockers = append(lockers, l)
			}
		}
		if mixed && d.one(2) {
			lockers = append(lockers, LockerSpec{Machine: m, Kind: Permits, Path: permitsPath})
		}
		if several {
			lockers = append(lockers, LockerSpec{Machine: m, Kind: Several, Path: paths[0]})
		}
	}
	return lockers
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
	s.Fence = !p.Lockers[locker].shares() || d.one(4)
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
		s.Take = Acquire + Take(d.IntN(4)/3)
	case l.Kind == ReadWrite:
		s.Read = d.one(2)
		if s.Take == Do || s.Read && l.Ownerless { // whose Lost channel would be any reader's
			s.Take = Acquire
		}
		s.Downgrade = !s.Read && !l.Ownerless && !s.Take.handle() && d.one(3)
	case l.Kind == Several && s.Take >= Do:
		s.Take = LockContext
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
			in.Downgrade = false
			in.Leave = min(in.Leave, UnlockDone)
			if in.Take >= Do {
				in.Take = LockContext
			}
		}
		in.Inner = d.inner(p, in, lockers, depth+1)
		inner = append(inner, in)
	}
	return inner
}

// shares tells whether owners in one process pass a node on.
func (l LockerSpec) shares() bool { return l.Handoff > 1 || l.Retention > 0 }
