package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zklock/zklock"
)

// actor is a goroutine that works through its sections.
type actor struct {
	world   *world
	machine *machine
	name    string
}

func (a *actor) run(sections []Section) {
	var inc *incarnation
	for _, s := range sections {
		if !a.pause(s.Pause) {
			return
		}
		if !s.Stale || inc == nil {
			inc = a.machine.current()
		}
		if inc == nil {
			return
		}
		(&visit{actor: a, inc: inc, lock: inc.locks[s.Locker]}).section(s)
	}
}

// pause sleeps, and reports whether the world goes on.
func (a *actor) pause(d time.Duration) bool { return pause(a.world.ctx, d) }

// visit is an actor at a lock.
type visit struct {
	*actor
	inc   *incarnation
	lock  *lock
	outer *claim // of the same lock, when it is taken again; what is beside it is held too
}

func (v *visit) section(s Section) {
	if s.Take == Do {
		v.do(s)
		return
	}
	c := v.take(s)
	if c == nil {
		return
	}
	v.within(c, s)
	if s.Downgrade {
		v.downgrade(c, s)
		return
	}
	v.leave(c, s)
}

// within is what happens while the lock is held.
func (v *visit) within(c *claim, s Section) {
	v.observe(c, s)
	if s.looks() && !v.outer.includes(c) {
		v.askZooKeeper(c)
	}
	v.nested(c, s.Inner)
	v.pause(s.Hold)
	v.observe(c, s)
}

// nested are sections within c.
func (v *visit) nested(c *claim, sections []Section) {
	for _, in := range sections {
		v.pause(in.Pause)
		next := &visit{actor: v.actor, inc: v.inc, lock: v.inc.locks[in.Locker]}
		if next.lock == v.lock {
			next.outer = v.innermost(c)
		}
		next.section(in)
	}
}

// innermost returns what the owner of c took last: c itself, unless c was only
// locked once more beneath a later read lock.
func (v *visit) innermost(c *claim) *claim {
	if v.outer.includes(c) {
		return v.outer
	}
	return c
}

// downgrade goes on reading when the write lock is given back.
func (v *visit) downgrade(c *claim, s Section) {
	read := Section{Read: true, Take: LockContext, Leave: s.Leave, Hold: s.Hold / 2, Limit: s.Limit, Cancel: s.Cancel, Fence: true}
	inner := &visit{actor: v.actor, inc: v.inc, lock: v.lock, outer: v.innermost(c)}
	got := inner.take(read)
	v.leave(c, s)
	if got == nil {
		return
	}
	if c.depth == 0 {
		v.world.checker.alone(got)
	}
	inner.outer = v.outer
	inner.nested(got, s.Reading)
	v.pause(read.Hold)
	inner.leave(got, read)
}

// take takes the lock in the way of s; nil if that came to nothing.
func (v *visit) take(s Section) *claim {
	ctx, call, end := v.begin(s)
	defer end()
	if s.Take.handle() {
		var release func(context.Context) error
		holds, err := got(func() (holds []*zklock.Hold, err error) {
			release, holds, err = v.lock.acquire(ctx, s)
			return holds, err
		})
		if call.took(err == nil, err); err != nil {
			return nil
		}
		c := v.claim(s, holds...)
		c.release = release
		v.world.checker.granted(c)
		return c
	}
	f := v.lock.facade(s)
	took, err := true, error(nil)
	switch s.Take {
	case Lock:
		err = guarded(f.Lock)
	case LockContext:
		_, err = got(func() (bool, error) { return true, f.LockContext(ctx) })
	case TryLock:
		took = f.TryLock()
	case TryLockFor:
		took, err = got(func() (bool, error) { return f.TryLockFor(ctx, s.For) })
	}
	call.took(took && err == nil, err)
	if !took || err != nil {
		return nil
	}
	return v.become(s)
}

// become makes the claim of a goroutine that was made the owner.
func (v *visit) become(s Section) *claim {
	if own := v.outer.side(s.Read); own != nil {
		own.depth++
		return own
	}
	c := v.claim(s, v.lock.held(s)...)
	if c == nil {
		v.world.checker.fail("P7", "%s of %s succeeded and %s holds nothing", s.Take, v.lock.spec.Path, v.name)
		return nil
	}
	c.beside = v.outer
	v.world.checker.granted(c)
	return c
}

// do is a whole section in one call.
func (v *visit) do(s Section) {
	ctx, call, end := v.begin(s)
	defer end()
	ran := false
	err := v.runs(ctx, s, func(ctx context.Context) error {
		ran = true
		call.took(true, nil)
		h := zklock.HoldFrom(ctx)
		if h == nil {
			v.world.checker.fail("P7", "Do of %s runs %s without a hold", v.lock.spec.Path, v.name)
			return nil
		}
		c := v.claim(s, h)
		v.world.checker.granted(c)
		defer v.world.checker.returned(c)
		if v.lock.several != nil { // fn's context tells of the last hold only
			defer v.world.checker.returnedTogether(call.held)
		}
		v.within(c, s)
		told := errors.Is(context.Cause(ctx), zklock.ErrLost)
		if told && !c.lost() && v.lock.several == nil || c.lost() && ctx.Err() == nil {
			v.world.checker.fail("P2", "%s: Do's ctx and its Lost channel disagree: cause %v", v.name, context.Cause(ctx))
		}
		call.claim, call.lost, call.waits = c, c.isLost(), true
		return nil
	})
	if !ran {
		call.took(false, err)
		return
	}
	call.gave(err)
}

// leave gives the lock back in the way of s.
func (v *visit) leave(c *claim, s Section) {
	if !v.outer.includes(c) {
		v.world.checker.returned(c)
	}
	c.depth--
	ctx, call, end := v.beginLeave(c, s)
	defer end()
	give := func() error {
		switch {
		case s.Take.handle():
			return c.release(ctx)
		case call.waits:
			return v.lock.facade(s).UnlockContext(ctx)
		}
		return guarded(v.lock.facade(s).Unlock)
	}
	if s.Leave != UnlockElsewhere {
		call.gave(give())
		return
	}
	result := make(chan error, 1)
	go func() { result <- give() }()
	call.gave(<-result)
}

// runs is Do of the visit's lock, with what it panics with as its error.
func (v *visit) runs(ctx context.Context, s Section, fn func(context.Context) error) error {
	_, err := got(func() (struct{}, error) { return struct{}{}, v.lock.do(ctx, s, fn) })
	return err
}

// got runs a call in which the trace may panic, and returns that as an error.
func got[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p == errPanic {
			err = errPanic
		} else if p != nil {
			panic(p)
		}
	}()
	return call()
}

// guarded runs a call that panics instead of returning an error.
func guarded(call func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("panic")
			if cause, ok := p.(error); ok {
				err = errors.Join(err, cause)
			}
		}
	}()
	call()
	return nil
}

// crowd has callers, impatient and patient ones, ask for the machine's locks at
// this moment.
func (w *world) crowd(f Fault) {
	hasty := Section{Take: Acquire, Permits: 1, Limit: f.For/64 + time.Millisecond, Cancel: true}
	patient := Section{Take: Acquire, Permits: 1, Hold: f.For / 32}
	w.ask(w.machines[f.Machine], hasty, patient, patient)
}

// ask has a goroutine for each section ask for each of the machine's locks.
func (w *world) ask(m *machine, sections ...Section) { w.askFor("", m, sections...) }

// askFor is ask for those locks on path; "" for all.
func (w *world) askFor(path string, m *machine, sections ...Section) {
	m.mu.Lock()
	inc := m.latest
	m.mu.Unlock()
	if inc == nil {
		return
	}
	for i, l := range inc.locks {
		if l == nil || l.several != nil || path != "" && l.spec.Path != path {
			continue
		}
		for n, s := range sections {
			w.asked.Add(int64(s.Hold))
			s.Locker, s.Read = i, l.rw != nil && n == 1
			if s.Downgrade = s.Downgrade && l.rw != nil && !l.spec.Ownerless; s.Downgrade {
				s.Take = LockContext
			}
			a := &actor{world: w, machine: m, name: fmt.Sprintf("%s/c%d.%d", m.name, i, n)}
			w.work.Go(func() { (&visit{actor: a, inc: inc, lock: l}).section(s) })
		}
	}
}
