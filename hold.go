package zklock

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/latch"
)

// Hold is one possession of a lock, from the grant until it is released or lost.
// It belongs to whoever has the value and may cross goroutines; its methods may
// be called from several at once.
type Hold struct {
	contender *contender
	state     atomic.Int32
	lost      latch.Latch
	revoked   latch.Latch
	history   *history

	ctx     context.Context
	ctxOnce sync.Once

	mu    sync.Mutex
	atEnd []*endFunc
}

// endFunc is what is to be called when a hold ends.
type endFunc struct{ f func(cause error) }

// What a Hold's state may be. It changes once, from held to one of the others.
const (
	holdHeld int32 = iota
	holdLost
	holdReleased
)

// Lost returns a channel that is closed when the lock is lost, and never by its
// release: a long task selects on it.
func (h *Hold) Lost() <-chan struct{} { return h.lost.Done() }

// Context returns a context that lives as long as the hold: it is cancelled with
// the cause [ErrLost] or [ErrReleased]. [HoldFrom] finds the hold in it.
func (h *Hold) Context() context.Context {
	h.ctxOnce.Do(func() { h.ctx, _ = h.under(context.Background()) })
	return h.ctx
}

// Err returns nil while the lock is held, and then [ErrLost] or [ErrReleased].
func (h *Hold) Err() error {
	switch h.state.Load() {
	case holdLost:
		return ErrLost
	case holdReleased:
		return ErrReleased
	}
	return nil
}

// reentry returns why the hold's owner cannot lock once more, nil if it can.
func (h *Hold) reentry() error {
	err := h.Err()
	if err == ErrReleased && h.contender.whyGone() == ErrClosed {
		return ErrClosed
	}
	return err
}

// Valid tells whether the lock is held, and reads the clock to do so: it is false
// on the first call after a pause of the process that was too long, before any
// timer has run. A hold that was found so is lost. It does not ask ZooKeeper: it
// is true after an operator has deleted the node until the news arrives.
func (h *Hold) Valid() bool {
	if h.Err() != nil {
		return false
	}
	ep, s := h.contender.epoch, h.contender.queue.session
	now := s.clock.Now()
	if ep.RunsAt(now) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse(ep, now)
	return h.Err() == nil // a proof may have come just then
}

// Token returns the hold's fencing token, the zxid of the transaction that
// created its node; a downgraded read lock goes on with its writer's. A later hold
// of the same path has a larger one, also after the path itself was deleted and
// made again; those that share the lock (readers, permits) have different ones in
// no particular order. A store outside ZooKeeper that refuses a token below the
// largest it has seen is safe from a holder that was paused and does not know yet
// that its lock is lost. Ask for it while the lock is held: with [WithHandoff] or
// [WithRetention] the next owner may have the same one otherwise.
func (h *Hold) Token() int64 {
	h.expose(false)
	return h.contender.token
}

// expose keeps the node from being shared with another owner, and, if it may be
// checked from now on, from outliving the hold: nobody else of the session is to have
// the lock while a check of it succeeds. It reports whether the hold has not ended.
func (h *Hold) expose(checked bool) bool {
	s := h.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Err() != nil {
		return false
	}
	h.contender.exposed = true
	h.contender.checked = h.contender.checked || checked
	return true
}

// Node returns the full path of the hold's node; of several permits, the first's.
func (h *Hold) Node() string { return h.contender.node }

// Check returns a request that succeeds only while the hold's node exists. Put
// first in a Multi of [Session.Conn], it makes the other operations happen
// while this hold exists or not at all. Of several permits it checks the first
// one's node. Asked for when the hold has ended, it never succeeds.
func (h *Hold) Check() *zk.CheckVersionRequest {
	check := h.contender.check()
	if !h.expose(true) { // another owner may have the same node by now
		check.Version = math.MinInt32 // which no node has
	}
	return check
}

// Release gives the lock back and returns when ZooKeeper has confirmed it. When
// ctx ends first, or has ended already, its error is returned and the delete
// goes on in the background until the node is gone or the session is. Calling
// Release again returns nil again, and so does it after [Session.Close]; of a
// hold that was lost it returns [ErrLost].
func (h *Hold) Release(ctx context.Context) error {
	return wrap("release", h.contender.queue.path, h.release(ctx, nil))
}

// release is Release that calls then as leave does.
func (h *Hold) release(ctx context.Context, then func()) error {
	r, err := h.leave(then)
	if r == nil {
		return err
	}
	if latch.IsClosed(r.done) { // whatever has become of ctx
		return r.err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ended(ctx)
	}
}

// leave ends the hold, calls then unless that is nil, and has the node deleted, in
// this order: nobody is to see the next hold, or what the owner had besides this
// one, while this one lives. The removal is nil if there is none to wait for: the
// hold was lost, or ended with its session, or its node went on to another owner.
func (h *Hold) leave(then func()) (*removal, error) {
	r, first := h.giveBack(then)
	if h.state.Load() == holdLost {
		return nil, ErrLost
	}
	if first && h.history.released() {
		h.history.tell()
	}
	return r, nil
}

// giveBack is what leave does under the session's mu.
func (h *Hold) giveBack(then func()) (r *removal, first bool) {
	c := h.contender
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	first = h.end(holdReleased)
	if then != nil {
		then()
	}
	if first && (c.cohort == nil || !c.cohort.passOn(c)) {
		c.leaveLocked()
	}
	return c.leaving, first
}

// sendRelease gives the lock back without waiting for ZooKeeper: it returns when
// the delete has been written to the connection, behind which every later
// request of this session stands, when it has to wait for a connection, or when
// ctx ends. It calls then as leave does.
func (h *Hold) sendRelease(ctx context.Context, then func()) {
	r, _ := h.leave(then)
	if r == nil || r.batch == nil || r.batch.link == nil || !r.batch.link.Serving() {
		return // nothing is written before a new connection has logged in
	}
	select {
	case <-r.batch.sent.Done():
	case <-r.batch.link.Down():
	case <-ctx.Done():
	}
}

// end closes what has to be closed; false if the hold has ended before. The
// session's mu is held.
func (h *Hold) end(state int32) bool {
	if !h.state.CompareAndSwap(holdHeld, state) {
		return false
	}
	if state == holdLost {
		h.lost.Close()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.atEnd {
		c.f(h.Err())
	}
	h.atEnd = nil
	return true
}

// whenEnded calls f with the cause when the hold ends, or at once if it has, unless
// stop is called before. f is called under locks of the session, so that nothing
// comes between the end and f.
func (h *Hold) whenEnded(f func(cause error)) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.Err(); err != nil {
		f(err)
		return func() {}
	}
	c := &endFunc{f}
	h.atEnd = append(h.atEnd, c)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.atEnd = slices.DeleteFunc(h.atEnd, func(other *endFunc) bool { return other == c })
	}
}

// under returns a child of parent that carries the hold and ends with it, and what
// takes it out of parent afterwards. It is a grandchild, since a child that ends calls
// methods of its parent's, which may be the user's.
func (h *Hold) under(parent context.Context) (ctx context.Context, detach func()) {
	between, detach := context.WithCancel(context.WithValue(parent, holdKey{}, h))
	ctx, end := context.WithCancelCause(between)
	h.whenEnded(end)
	return ctx, detach
}

type holdKey struct{}

// HoldFrom returns the hold behind the context that [Locker.Do] gives to its
// function, or behind [Hold.Context]; nil if there is none.
func HoldFrom(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}
