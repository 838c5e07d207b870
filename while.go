package zklock

import (
	"context"
	"fmt"
)

// while returns a child of ctx that ends with the first of the holds, and what takes it out of
// ctx afterwards.
func while(holds []*Hold, ctx context.Context) (held context.Context, detach func()) {
	if len(holds) == 0 {
		return ctx, func() {}
	}
	held, end, leave := apart(ctx)
	var stop []func()
	for _, h := range holds {
		stop = append(stop, h.hold.WhenEnded(func(cause error) {
			end(fmt.Errorf("another of the locks is held no more: %w", cause))
		}))
	}
	return held, func() {
		for _, f := range stop {
			f()
		}
		leave()
	}
}

// apart returns a child of parent that end ends, and what takes it out of parent afterwards, by
// methods of parent's. It is a grandchild: end may be called under locks of the session, where no
// method of a user's may be.
func apart(parent context.Context) (child context.Context, end context.CancelCauseFunc, leave func()) {
	between, leave := context.WithCancel(parent)
	child, end = context.WithCancelCause(between)
	return child, end, leave
}

// orElse calls f, which takes a child out of a context of the user's, and undo as well if that panics.
func orElse(f, undo func()) {
	panics := true
	defer func() {
		if panics {
			undo()
		}
	}()
	f()
	panics = false
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
