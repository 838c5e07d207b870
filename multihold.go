package zklock

import (
	"context"
	"slices"
	"sync"
	"time"

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
	h.ctxOnce.Do(func() {
		parent := context.Background()
		if err := h.Err(); err != nil { // which of several ends counts, it says
			parent = over(err)
		}
		h.ctx, _ = h.section().under(parent)
	})
	return h.ctx
}

// over returns a context that has ended with that cause.
func over(cause error) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	end(cause)
	return ctx
}

// Err returns nil while all the locks are held, then [ErrLost] if one was lost, and otherwise
// [ErrReleased].
func (h *MultiHold) Err() error {
	if err := h.made("err"); err != nil {
		return err
	}
	if err, _ := h.section().lost(nil); err != nil {
		return err
	}
	return ended(h.holds)
}

// Valid reports whether all the locks are held, by the clock, as [Hold.Valid] of one.
func (h *MultiHold) Valid() bool {
	must(h.made("valid"))
	return valid(h.holds)
}

// ValidFor reports whether all the locks are held and last for d more, as [Hold.ValidFor] of one.
func (h *MultiHold) ValidFor(d time.Duration) bool {
	must(h.made("valid"))
	left := h.left()
	return left > 0 && left >= d
}

// Until returns until when all the locks are held, as [Hold.Until] of one.
func (h *MultiHold) Until() (time.Time, bool) {
	must(h.made("until"))
	now := time.Now()
	return until(now, h.left())
}

// left returns for how long the first of the locks lasts that ends.
func (h *MultiHold) left() time.Duration {
	left := h.holds[0].hold.Left()
	for _, part := range h.holds[1:] {
		left = min(left, part.hold.Left())
	}
	return left
}

// Release gives all the locks back, the last one first, as [Hold.Release] does with each. It
// goes on past errors and returns all of them.
func (h *MultiHold) Release(ctx context.Context) error {
	if err := h.made("release"); err != nil {
		return err
	}
	var errs []error
	backwards(h.holds, func(part *Hold) { errs = append(errs, part.Release(ctx)) })
	return together(errs)
}

// section returns the holds as those of a Do, without shares in a gate.
func (h *MultiHold) section() section {
	s := make(section, len(h.holds))
	for i, part := range h.holds {
		s[i].hold = part
	}
	return s
}
