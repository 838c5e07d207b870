package sim

import (
	"context"
	"errors"
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
	for _, s := range sections {
		if !a.pause(s.Pause) {
			return
		}
		inc := a.machine.current()
		if inc == nil {
			return
		}
		a.section(&visit{actor: a, inc: inc, locker: inc.lockers[s.Locker], path: a.world.program.Lockers[s.Locker].Path}, s)
	}
}

// pause sleeps; false when the world has ended meanwhile.
func (a *actor) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-a.world.ctx.Done():
		return false
	}
}

// visit is an actor at a Locker.
type visit struct {
	*actor
	inc    *incarnation
	locker *zklock.Locker
	path   string
	outer  *claim // of the same Locker, when it is taken again
}

func (a *actor) section(v *visit, s Section) {
	if s.Take == Do {
		v.do(s)
		return
	}
	c := v.take(s)
	if c == nil {
		return
	}
	v.within(c, s)
	v.leave(c, s)
}

// within is what happens while the lock is held.
func (v *visit) within(c *claim, s Section) {
	for _, in := range s.Inner {
		v.pause(in.Pause)
		next := &visit{actor: v.actor, inc: v.inc, locker: v.inc.lockers[in.Locker], path: v.world.program.Lockers[in.Locker].Path}
		if next.locker == v.locker {
			next.outer = c
		}
		v.section(next, in)
	}
	v.pause(s.Hold)
}

// take takes the lock in the way of s; nil if that came to nothing.
func (v *visit) take(s Section) *claim {
	ctx, call, end := v.begin(s.Take, s.Limit, s.Cancel)
	defer end()
	var h *zklock.Hold
	var err error
	took := true
	switch s.Take {
	case Lock:
		err = guarded(v.locker.Lock)
	case LockContext:
		err = v.locker.LockContext(ctx)
	case TryLock:
		took = v.locker.TryLock()
	case TryLockFor:
		took, err = v.locker.TryLockFor(ctx, s.For)
	case Acquire:
		h, err = v.locker.Acquire(ctx)
	case TryAcquire:
		h, err = v.locker.TryAcquire(ctx)
	}
	call.took(took && err == nil, err)
	if !took || err != nil {
		return nil
	}
	if v.outer != nil {
		return v.outer
	}
	facade := h == nil
	if facade {
		h = v.locker.Held()
	}
	if h == nil {
		v.world.referee.fail("P7", "%s of %s succeeded and %s holds nothing", s.Take, v.path, v.name)
		return nil
	}
	c := v.claims(h)
	if facade {
		c.locker = v.locker
	}
	v.world.referee.granted(c)
	return c
}

// do is a whole section in one call.
func (v *visit) do(s Section) {
	ctx, call, end := v.begin(Do, s.Limit, s.Cancel)
	defer end()
	ran := false
	err := v.locker.Do(ctx, func(ctx context.Context) error {
		ran = true
		call.took(true, nil)
		h := zklock.HoldFrom(ctx)
		if h == nil {
			v.world.referee.fail("P7", "Do of %s runs %s without a hold", v.path, v.name)
			return nil
		}
		c := v.claims(h)
		c.locker = v.locker
		v.world.referee.granted(c)
		defer v.world.referee.returned(c)
		v.within(c, s)
		if told := errors.Is(context.Cause(ctx), zklock.ErrLost); told && !c.lost() || c.lost() && ctx.Err() == nil {
			v.world.referee.fail("P2", "%s: Do's ctx and its Lost channel disagree: cause %v", v.name, context.Cause(ctx))
		}
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
	if v.outer == nil {
		v.world.referee.returned(c)
	}
	limit := map[Leave]time.Duration{UnlockImpatient: 5 * time.Millisecond, UnlockDone: -1}[s.Leave]
	ctx, call, end := v.begin(-1, limit, false)
	defer end()
	give := func() error {
		switch {
		case s.Take.handle():
			return c.hold.Release(ctx)
		case s.Leave == Unlock, s.Leave == UnlockElsewhere:
			return guarded(v.locker.Unlock)
		}
		return v.locker.UnlockContext(ctx)
	}
	if s.Leave != UnlockElsewhere {
		call.gave(give())
		return
	}
	result := make(chan error, 1)
	go func() { result <- give() }()
	call.gave(<-result)
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
