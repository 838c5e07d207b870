package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/queue"
)

// Hold is one possession of a lock, from the grant until it is released or lost. It belongs to
// whoever has the value and may cross goroutines; its methods may be called from several at
// once.
type Hold struct {
	hold   *queue.Hold
	shares *shares // of which its owner has some until it gives the hold back; nil of a handle

	ctx     context.Context
	ctxOnce sync.Once
}

// holdOf returns the hold of whoever has got h, nil of none.
func holdOf(h *queue.Hold) *Hold {
	if h == nil {
		return nil
	}
	return &Hold{hold: h}
}

// Lost returns a channel that is closed when the lock is lost, and never by its release. The end of
// its session by [Session.Close] is a loss. A long task waits for it, and looks at [Hold.Valid] before
// each step: when several channels are ready, select picks one at random.
func (h *Hold) Lost() <-chan struct{} { return h.must("lost").Lost() }

// Context returns a context that lives as long as the hold: it is cancelled with what
// [Hold.Err] returns as its cause. [HoldFrom] finds the hold in it.
func (h *Hold) Context() context.Context {
	must(h.made("context"))
	h.ctxOnce.Do(func() { h.ctx, _ = h.under(context.Background()) })
	return h.ctx
}

// Err returns nil while the lock is held, and then [ErrReleased], or an error that is [ErrLost]
// and says why. It is the same value each time, and costs as little as a read of the memory.
func (h *Hold) Err() error {
	if err := h.made("err"); err != nil {
		return err
	}
	return h.hold.Err()
}

// Valid reports whether the lock is held. It reads the clock, so that it is false on the first
// call after a pause of the process that was too long, before any timer has run; the hold is
// lost then. It does not ask ZooKeeper: after an operator has deleted the node it is true until
// the session has heard of that.
func (h *Hold) Valid() bool { return h.must("valid").Valid() }

// ValidFor reports whether the lock is held, and lasts for d more though nothing more should be heard
// of any server: for a step that takes so long, and cannot be stopped. As with Valid an operator may
// still delete the node. The proofs of the session renew that time again and again; it is about half
// of the session timeout and not more than 0.95 of it, so that a d beyond that is in vain.
func (h *Hold) ValidFor(d time.Duration) bool {
	left := h.must("valid").Left()
	return left > 0 && left >= d
}

// Until returns until when, by this machine's clock, the lock is held though nothing more should be heard
// of any server; false if it is not held. It is later each time that a server has confirmed the session:
// see ValidFor.
func (h *Hold) Until() (time.Time, bool) { return until(h.must("until").Left()) }

func until(left time.Duration) (time.Time, bool) {
	if left <= 0 {
		return time.Time{}, false
	}
	return time.Now().Add(left), true
}

// Token returns the hold's fencing token, the zxid of the transaction that created its node; a
// downgraded read lock goes on with its writer's. A later hold of the same path has a larger
// one, also after the path itself was deleted and made again, as long as the servers keep their
// data; those that share the lock (readers, permits) have different ones in no particular
// order. A store outside ZooKeeper that refuses a token below the largest it has seen is safe
// from a holder that was paused and does not know yet that its lock is lost; of those that
// share the lock it refuses valid ones, too.
// Ask for it while the lock is held: with [WithHandoff] or [WithRetention] the next owner may
// have the same one otherwise.
func (h *Hold) Token() int64 { return h.must("token").Token() }

// Node returns the full path of the hold's node, with the session's chroot if there is one; of
// several permits, the first's.
func (h *Hold) Node() string { return h.must("node").Node() }

// Check returns a request that succeeds only while the hold's node exists. Put first in a Multi
// of [Session.Conn], it makes the other operations happen while that node exists or not at all.
// The node may outlast a hold that was lost for want of an answer, and a check that was asked
// for before then succeeds. That does no harm: while the node is there nobody else has the lock,
// unless an operator has deleted it and made one of its name.
// Of several permits it checks the first one's node. Asked for when the hold has ended, it
// never succeeds.
func (h *Hold) Check() *zk.CheckVersionRequest { return h.must("check").Check() }

// Release gives the lock back and returns when ZooKeeper has confirmed that its node is gone. (If a
// server has refused to delete that of another owner of this session, which the lock came from, the
// lock is free when that is gone too.) When ctx ends first, or has ended already, its error is
// returned and the delete goes on in the background until the node is gone or the session is;
// [Hold.Context]'s ends with the hold. Calling Release again returns nil again; of a hold that was
// lost, also by [Session.Close], it returns [ErrLost] with its cause.
func (h *Hold) Release(ctx context.Context) error {
	if err := h.made("release"); err != nil {
		return err
	}
	client.NeedsContext(ctx)
	return wrap("release", h.hold.Path(), h.hold.Client().Explain(h.hold.Release(ctx, nil)))
}

// under returns a child of parent that carries the hold and ends with it, and what takes it out
// of parent afterwards.
func (h *Hold) under(parent context.Context) (ctx context.Context, detach func()) {
	ctx, end, leave := apart(context.WithValue(parent, holdKey{}, &carried{h, carriedBy(parent)}))
	stop := h.hold.WhenEnded(end)
	return ctx, func() {
		stop()
		leave()
	}
}

// closeIfLost closes lost when the hold is lost, unless stop is called before.
func (h *Hold) closeIfLost(lost *latch.Latch) (stop func()) {
	return h.hold.WhenEnded(func(cause error) {
		if errors.Is(cause, ErrLost) {
			lost.Close()
		}
	})
}

type holdKey struct{}

// carried is a hold that a context carries, and those that its parents do.
type carried struct {
	hold  *Hold
	outer *carried
}

// carriedBy returns the innermost hold of ctx, nil if it carries none.
func carriedBy(ctx context.Context) *carried {
	c, _ := ctx.Value(holdKey{}).(*carried)
	return c
}

// HoldFrom returns the hold behind the context that [Locker.Do] gives to its function, or
// behind [Hold.Context]; of several the innermost, and nil if there is none.
func HoldFrom(ctx context.Context) *Hold {
	client.NeedsContext(ctx)
	if c := carriedBy(ctx); c != nil {
		return c.hold
	}
	return nil
}

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
	return until(h.left())
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

// section is what Do holds while its function runs, in the order in which it was taken.
type section []possession

type possession struct {
	hold *Hold
	of   *side // that the hold has a share in; nil of none
}

// leave gives the owner's share in the gate back.
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

// backwards calls f for one after the other, the last one first, and for the others too if one
// panics.
func backwards[T any](all []T, f func(T)) {
	if last := len(all) - 1; last >= 0 {
		defer backwards(all[:last], f)
		f(all[last])
	}
}
