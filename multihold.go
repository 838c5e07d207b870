package zklock

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
)

// MultiHold is one possession of all the locks of a [MultiLocker], until it is released or one
// of them is lost. Like a [Hold] it belongs to whoever has the value.
type MultiHold struct {
	holds []*Hold // in the order of the paths
	lost  latch.Latch

	ctx     context.Context
	ctxOnce sync.Once
}

// Acquire takes all the locks for whoever has the [MultiHold] that it returns, as
// [Locker.Acquire] does with each, and starts over as [MultiLocker.LockContext] does. After an
// error none is held.
func (m *MultiLocker) Acquire(ctx context.Context) (*MultiHold, error) {
	if err := m.made("acquire"); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, m.fail("acquire", client.Ended(ctx))
	}
	if err := m.deadlock(ctx, "acquire", false); err != nil {
		return nil, err
	}
	holds, err := m.all(ctx, taking{
		take: func(ctx context.Context, l *Locker) (*Hold, error) { return l.Acquire(ctx) },
		give: func(_ *Locker, h *Hold) {
			h.hold.Disown()
			h.hold.SendRelease(ctx, nil)
		},
	})
	if err != nil {
		return nil, m.fail("acquire", err)
	}
	h := &MultiHold{holds: holds}
	for _, part := range holds {
		part.hold.WhenEnded(func(cause error) {
			if errors.Is(cause, ErrLost) {
				h.lost.Close()
			}
		})
	}
	return h, nil
}

// Holds returns the hold of each lock, in the order of their paths: for their tokens and checks.
func (h *MultiHold) Holds() []*Hold {
	must(h.made("holds"))
	return slices.Clone(h.holds)
}

// Lost returns a channel that is closed when any of the locks is lost, and never by a release.
// The others stay held until Release.
func (h *MultiHold) Lost() <-chan struct{} {
	must(h.made("lost"))
	return h.lost.Done()
}

// Context returns a context that lives as long as all of the holds, as [Hold.Context] of one.
func (h *MultiHold) Context() context.Context {
	must(h.made("context"))
	h.ctxOnce.Do(func() { h.ctx, _ = h.section().under(context.Background()) })
	return h.ctx
}

// Err returns nil while all the locks are held, then [ErrLost] if one was lost, and otherwise
// [ErrReleased].
func (h *MultiHold) Err() error {
	if err := h.made("err"); err != nil {
		return err
	}
	if err := h.section().lost(); err != nil {
		return err
	}
	return ended(h.holds)
}

// Valid reports whether all the locks are held, by the clock, as [Hold.Valid] of one.
func (h *MultiHold) Valid() bool {
	must(h.made("valid"))
	return valid(h.holds)
}

// Release gives all the locks back, the last one first, as [Hold.Release] does with each. It
// goes on past errors and returns all of them.
func (h *MultiHold) Release(ctx context.Context) error {
	if err := h.made("release"); err != nil {
		return err
	}
	var errs []error
	backwards(h.holds, func(part *Hold) { errs = append(errs, part.Release(ctx)) })
	return errors.Join(errs...)
}

// section returns the holds as those of a Do, without shares in a gate.
func (h *MultiHold) section() section {
	s := make(section, len(h.holds))
	for i, part := range h.holds {
		s[i].hold = part
	}
	return s
}

// ended returns how the first of the holds that has ended did, nil if none has.
func ended(holds []*Hold) error {
	for _, h := range holds {
		if err := h.Err(); err != nil {
			return err
		}
	}
	return nil
}

// valid reports whether all are held. It reads the clock: the locks may be of several sessions,
// whose leases end apart.
func valid(holds []*Hold) bool {
	for _, h := range holds {
		if !h.Valid() {
			return false
		}
	}
	return true
}

// whileHeld is a ctx that ends with the first of the holds too. No goroutine calls a method of
// the caller's ctx, which may panic, as one of package context would.
type whileHeld struct {
	context.Context
	holds []*Hold
	done  latch.Latch
}

// while returns a child of ctx that ends with the first of the holds, and what takes it out of
// both.
func while(holds []*Hold, ctx context.Context) (held context.Context, detach func()) {
	if len(holds) == 0 {
		return ctx, func() {}
	}
	w, done := &whileHeld{Context: ctx, holds: holds}, ctx.Done()
	var stop []func()
	for _, h := range holds {
		stop = append(stop, h.hold.WhenEnded(func(error) { w.done.Close() }))
	}
	detached, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-done:
			w.done.Close()
		case <-detached:
		}
	}()
	return w, func() {
		for _, f := range stop {
			f()
		}
		close(detached)
		<-over
	}
}

func (w *whileHeld) Done() <-chan struct{} { return w.done.Done() }

func (w *whileHeld) Err() error {
	if ended(w.holds) != nil {
		return context.Canceled
	}
	return w.Context.Err()
}
