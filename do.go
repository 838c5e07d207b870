package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/goid"
)

// Do runs fn while it holds the lock: it takes it as [Locker.LockContext] does, and when fn
// returns it releases it as [Locker.UnlockContext] does. When fn panics, or ends the goroutine
// by runtime.Goexit, it releases it as [Locker.Unlock] does. fn's context is a child of ctx
// that is cancelled when the hold ends, with what [Hold.Err] returns as its cause: [ErrLost], which
// is [ErrClosed] too if that was by [Session.Close]. Do returns fn's error; if the lock was lost
// meanwhile, the error is ErrLost too, with its cause, even if fn returned nil.
//
// The lock belongs to the call, not to the goroutine: inside fn, [HoldFrom] finds the hold in
// the context, with its Lost, Valid and Token. Of l, Lost answers the goroutine that runs fn, and Held
// and HoldCount know of no hold.
// It is not reentrant. A call that would wait for the hold that its own context carries returns
// [ErrDeadlock]; Lock, which has no context, waits for ever.
func (l *Locker) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return l.exclusive().do(ctx, fn)
}

// Do runs fn while it holds the lock for writing, as [Locker.Do] does; [ErrUpgrade] if the
// calling goroutine holds it for reading only, or ctx carries a hold for reading.
func (l *RWLocker) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := l.upgrading("do"); err != nil {
		return err
	}
	return l.writes().Do(ctx, fn)
}

// RDo runs fn while it holds the lock for reading, as [Locker.Do] does. Inside fn another RDo
// waits behind a writer that has come in between, and that for the first: take it once.
func (l *RWLocker) RDo(ctx context.Context, fn func(ctx context.Context) error) error {
	return l.reads().do(ctx, fn)
}

// Do runs fn while it holds n permits, as [Locker.Do] does with a lock. Inside fn, Acquire and
// Do return [ErrDeadlock] if the permits that their context carries, and those asked for, are
// more than the semaphore's size. If they are not, but others in line ask for more than is
// left, the one waits behind the other: take them all by one call.
func (s *Semaphore) Do(ctx context.Context, n int, fn func(ctx context.Context) error) error {
	if err := s.made("do"); err != nil {
		return err
	}
	fail := func(err error) error { return wrap("do", s.path, s.queue.Client().Explain(err)) }
	if fn == nil {
		return fail(errNoFunction)
	}
	h, err := s.take(ctx, n, (*Semaphore).wait)
	if err != nil {
		return fail(err)
	}
	return section{{hold: h}}.run(ctx, fn, fail)
}

// Do runs fn while it holds all the locks, as [Locker.Do] does with one. fn's context is
// cancelled when any of them is lost. It carries all the holds; [HoldFrom] finds the one of the
// last path.
func (m *MultiLocker) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := m.made("do"); err != nil {
		return err
	}
	fail := func(err error) error { return m.fail("do", err) }
	if fn == nil {
		return fail(errNoFunction)
	}
	if err := m.hopeless(ctx, "do", (*Locker).barred); err != nil {
		return err
	}
	holds, err := m.all(ctx, taking{
		take: func(ctx context.Context, l *Locker) (*Hold, error) {
			h, err := l.take(ctx)
			return h, l.fail("do", err)
		},
		give: func(l *Locker, h *Hold) { h.hold.SendReleaseUnused(ctx, l.leave) },
	})
	if err != nil {
		return fail(err)
	}
	s := make(section, len(holds))
	for i, h := range holds {
		s[i] = possession{h, &m.lockers[i].side}
	}
	defer m.forget(holds)
	return s.run(ctx, fn, fail)
}

var errNoFunction = errors.New("the function is nil")

func (s *side) do(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := s.made("do"); err != nil {
		return err
	}
	fail := func(err error) error { return s.fail("do", err) }
	switch {
	case fn == nil:
		return fail(errNoFunction)
	case client.HasEnded(ctx):
		return fail(client.Ended(ctx))
	}
	h, err := s.take(ctx)
	if err != nil {
		return fail(err)
	}
	return section{{h, s}}.run(ctx, fn, fail)
}

// section is what Do holds while its function runs, in the order in which it was taken.
type section []possession

type possession struct {
	hold *Hold
	of   *side // that the hold has a share in; nil of none
}

func (p possession) leave() {
	if p.of != nil {
		p.of.leave()
	}
}

// run calls fn, and then gives back what is held. fail makes an error of it that of the call.
func (s section) run(ctx context.Context, fn func(context.Context) error, fail func(error) error) (err error) {
	returned, detach := false, func() {}
	defer func() {
		defer func() { detach() }()
		if !returned { // a panic is not to wait for ZooKeeper
			backwards(s, func(p possession) { p.hold.hold.SendRelease(ctx, p.leave) })
			return
		}
		released := s.release(ctx)
		switch lost, more := s.lost(err); {
		case lost != nil && more != nil: // not ctx's cause, which may be another lock's
			err = fail(fmt.Errorf("%w; the function returned: %w", lost, more))
		case lost != nil:
			err = fail(lost)
		case err == nil && ctx.Err() == nil:
			err = fail(released)
		}
	}()
	var held context.Context
	held, detach = s.under(ctx)
	defer s.begin(goid.Get())()
	err = fn(held)
	returned = true
	return err
}

// begin has the locks know that the goroutine runs the function.
func (s section) begin(goroutine int64) (end func()) {
	for _, p := range s {
		if p.of != nil {
			p.of.doing.begin(goroutine, p.hold)
		}
	}
	return func() {
		for _, p := range s {
			if p.of != nil {
				p.of.doing.end(goroutine)
			}
		}
	}
}

// under returns a child of ctx that carries all that is held and ends with the first of it.
func (s section) under(ctx context.Context) (held context.Context, detach func()) {
	held, detach = s[0].hold.under(ctx)
	for _, p := range s[1:] {
		held, _ = p.hold.under(held)
	}
	return held, detach
}

// release gives all back and waits for the confirmations.
func (s section) release(ctx context.Context) error {
	var errs []error
	backwards(s, func(p possession) { errs = append(errs, p.hold.hold.Release(ctx, p.leave)) })
	return together(errs)
}

// lost returns that something was lost, and of several what, nil if nothing was; and what the
// function returned besides. Why it was lost is said once.
func (s section) lost(returned error) (lost, more error) {
	i := slices.IndexFunc(s, func(p possession) bool { return p.hold.hold.IsLost() })
	if i < 0 {
		return nil, returned
	}
	lost, more = s[i].hold.Err(), returned
	switch {
	case returned == lost:
		more = nil
	case errors.Is(returned, lost):
		lost = ErrLost
	}
	if len(s) > 1 {
		lost = fmt.Errorf("%s: %w", s[i].hold.hold.Path(), lost)
	}
	return lost, more
}

// doing are the holds of the Do calls of a side, whose functions run, by goroutine.
type doing struct {
	mu    sync.Mutex // guards holds; nothing is locked under it
	holds map[int64][]*Hold
}

// by returns the hold of the innermost Do whose function the goroutine runs, nil if there is none.
func (d *doing) by(goroutine int64) *Hold {
	d.mu.Lock()
	defer d.mu.Unlock()
	if holds := d.holds[goroutine]; len(holds) > 0 {
		return holds[len(holds)-1]
	}
	return nil
}

func (d *doing) begin(goroutine int64, h *Hold) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds == nil {
		d.holds = make(map[int64][]*Hold)
	}
	d.holds[goroutine] = append(d.holds[goroutine], h)
}

// end undoes the last begin of the goroutine.
func (d *doing) end(goroutine int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	holds := d.holds[goroutine]
	if d.holds[goroutine] = holds[:len(holds)-1]; len(holds) == 1 {
		delete(d.holds, goroutine)
	}
}
