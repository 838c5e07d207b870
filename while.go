package zklock

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock/internal/latch"
)

// limited is a caller's ctx that may end earlier. No goroutine calls a method of the caller's
// ctx, which may panic, or have another use when the call is over, as one of package context
// would.
type limited struct {
	context.Context
	outer    <-chan struct{} // Done of the caller's
	early    func() error    // why it has ended before that, nil if it has not
	deadline time.Time       // if it has one of its own, and the caller's none before
	done     latch.Latch
}

// limit returns a child of ctx that ends with it, or when done is closed and early says why, and
// what takes it out of ctx.
func limit(ctx context.Context, early func() error) (w *limited, detach func()) {
	done := ctx.Done()
	w = &limited{Context: ctx, outer: done, early: early}
	if done == nil {
		return w, func() {}
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
		close(detached)
		<-over
	}
}

func (w *limited) Done() <-chan struct{} { return w.done.Done() }

func (w *limited) Err() error {
	if err := w.early(); err != nil {
		return err
	}
	err := w.Context.Err()
	if err == nil && latch.IsClosed(w.outer) { // a type of the user's whose Done and Err disagree
		err = context.Canceled
	}
	return err
}

func (w *limited) Deadline() (deadline time.Time, ok bool) {
	if w.deadline.IsZero() {
		return w.Context.Deadline()
	}
	return w.deadline, true
}

// within returns a child of ctx that ends after d, with up, and what takes it out of ctx.
func within(ctx context.Context, d time.Duration, up error) (timed context.Context, detach func()) {
	var expired atomic.Bool
	deadline := time.Now().Add(d)
	if isSooner(ctx, deadline) {
		deadline = time.Time{}
	}
	done, err := ctx.Done(), fmt.Errorf("%w: %w", context.DeadlineExceeded, up)
	w, leave := limit(ctx, func() error { // no method of ctx, which may panic, is called from here on
		if expired.Load() {
			return err
		}
		return nil
	})
	w.deadline = deadline
	timer := time.AfterFunc(d, func() {
		if !latch.IsClosed(done) { // it was first
			expired.Store(true)
			w.done.Close()
		}
	})
	return w, func() {
		timer.Stop()
		leave()
	}
}

// isSooner reports whether ctx has a deadline before t.
func isSooner(ctx context.Context, t time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && deadline.Before(t)
}

// while returns a child of ctx that ends with the first of the holds, and what takes it out of
// both.
func while(holds []*Hold, ctx context.Context) (held context.Context, detach func()) {
	if len(holds) == 0 {
		return ctx, func() {}
	}
	w, leave := limit(ctx, func() error {
		if err := ended(holds); err != nil {
			return without{err}
		}
		return nil
	})
	var stop []func()
	for _, h := range holds {
		stop = append(stop, h.hold.WhenEnded(func(error) { w.done.Close() }))
	}
	return w, func() {
		for _, f := range stop {
			f()
		}
		leave()
	}
}

// without is how a MultiLocker's ctx ends with one of its holds.
type without struct{ loss error }

func (e without) Error() string {
	return context.Canceled.Error() + ": another of the locks is held no more: " + e.loss.Error()
}

func (e without) Unwrap() []error { return []error{context.Canceled, e.loss} }

// outside returns ctx as the caller gave it: what outlives the wait cannot use a limited one.
func outside(ctx context.Context) context.Context {
	for {
		w, ok := ctx.(*limited)
		if !ok {
			return ctx
		}
		ctx = w.Context
	}
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
