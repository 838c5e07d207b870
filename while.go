package zklock

import (
	"context"

	"github.com/zklock/zklock/internal/latch"
)

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
	if err := ended(w.holds); err != nil {
		return without{err}
	}
	return w.Context.Err()
}

// without is how a whileHeld ends with one of its holds.
type without struct{ loss error }

func (e without) Error() string {
	return context.Canceled.Error() + ": another of the locks is held no more: " + e.loss.Error()
}
func (e without) Unwrap() []error { return []error{context.Canceled, e.loss} }

// outside returns ctx as the caller of a MultiLocker gave it: what outlives the wait cannot use
// a whileHeld.
func outside(ctx context.Context) context.Context {
	if w, ok := ctx.(*whileHeld); ok {
		return w.Context
	}
	return ctx
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
