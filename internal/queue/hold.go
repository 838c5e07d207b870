package queue

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Hold is one possession of a lock, from the grant until it is released or lost. Its methods
// may be called by any goroutine, but for those of the zero Hold.
type Hold struct {
	contender *contender
	state     atomic.Int32
	lost      latch.Latch
	revoked   latch.Latch
	history   History
	deletion  *deletion // by its release, nil if a later owner of the node may have one; guarded by the mutex that grants
	limit     *limit    // nil of most; guarded likewise
	left      bool      // its owner has given back what it had besides; guarded likewise

	mu    sync.Mutex // guards atEnd; taken under the mutex that grants
	atEnd *endFunc   // a list, since most holds have none, and a hand-off feels each byte
}

// endFunc is what is to be called when a hold ends.
type endFunc struct {
	f    func(cause error)
	next *endFunc
}

// What a Hold's state may be. It changes once, from held to one of the others.
const (
	held int32 = iota
	lost
	released
)

// Lost returns a channel that is closed when the lock is lost.
func (h *Hold) Lost() <-chan struct{} { return h.lost.Done() }

// IsHeld reports whether the hold has neither been lost nor released, as far as is known.
func (h *Hold) IsHeld() bool { return h.state.Load() == held }

// IsLost reports whether the hold was lost.
func (h *Hold) IsLost() bool { return h.state.Load() == lost }

// Err returns nil while the lock is held, and then ErrReleased, or ErrLost with its cause, which
// is the same value each time.
func (h *Hold) Err() error {
	switch h.state.Load() {
	case lost:
		return h.contender.loss
	case released:
		return ErrReleased
	}
	return nil
}

// Valid reports whether the lock is held, and reads the clock to do so. A hold that was found
// not to be is lost.
func (h *Hold) Valid() bool {
	s := h.contender.queue.session
	now := s.client.Clock.Now()
	runs := s.lease.RunsAt(now) // ahead of Err: before it runs for others, the hold is lost
	switch {
	case h.Err() != nil:
		return false
	case runs:
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(h.contender.incarnation, now)
	return h.Err() == nil // a proof may have come just then
}

// Token returns the fencing token, and keeps the node from being shared with another owner.
func (h *Hold) Token() int64 {
	h.expose(false)
	return h.contender.token
}

// expose keeps the node from being shared with another owner, and, if it may be checked from
// now on, from outliving the hold: nobody else of the session is to have the lock while a check
// of it succeeds. It reports whether the hold has not ended.
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

// Check returns a request that succeeds only while the hold's node exists; never if the hold
// has ended.
func (h *Hold) Check() *zk.CheckVersionRequest {
	check := h.check()
	return &zk.CheckVersionRequest{Path: check.Path, Version: check.Version}
}

// check is Check for a transaction of ours.
func (h *Hold) check() wire.Op {
	check := client.Check(h.contender.node)
	if !h.expose(true) { // another owner may have the same node by now
		check.Version = math.MinInt32 // which no node has
	}
	return check
}

// Client returns the client of the hold's session.
func (h *Hold) Client() *client.Client { return h.contender.queue.session.client }

// Path returns the lock's path.
func (h *Hold) Path() string { return h.contender.queue.path }

// Kind returns what the hold has of its lock.
func (h *Hold) Kind() recipe.Kind { return h.contender.queue.kind }

// Blocks reports whether the hold, as long as it lasts, keeps whoever queues in q from the
// lock. Of queues in another session it is not known whether they are of the same ensemble.
func (h *Hold) Blocks(q *Queue) bool {
	return h.sharesQueue(q) && h.Kind().Blocks(q.kind)
}

// Excludes reports whether the hold's owner keeps whoever queues in q from what both share in
// this process: until it gives that back, though the hold was lost, or released before.
func (h *Hold) Excludes(q *Queue) bool {
	s := h.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return !h.left && !s.closed && h.Kind().Blocks(q.kind)
}

// PermitsOf returns how many permits of s the hold has.
func (h *Hold) PermitsOf(s *Semaphore) int {
	if !h.sharesQueue(s.permits) {
		return 0
	}
	return len(h.contender.nodes)
}

// sharesQueue reports whether the hold's nodes stand among those of q, and stay until it ends: or,
// if it was lost, until its owner gives it back.
func (h *Hold) sharesQueue(q *Queue) bool {
	own := h.contender.queue
	return own.session == q.session && own.dir == q.dir && (h.IsHeld() || h.hasGrace())
}

// hasGrace reports whether the hold was lost, and its nodes stay for its owner to stop.
func (h *Hold) hasGrace() bool {
	c := h.contender
	c.queue.session.mu.Lock()
	defer c.queue.session.mu.Unlock()
	return c.hold == h && c.grace() > 0
}

// Confirm proves the hold once more.
func (h *Hold) Confirm(ctx context.Context) error {
	c := h.contender
	return c.queue.session.client.Persist(ctx, func() error { return c.prove(ctx) })
}

// Revoked returns a channel that is closed when another client has asked for the lock back.
func (h *Hold) Revoked() <-chan struct{} { return h.revoked.Done() }

// History returns what is told of the hold, nil if nothing is.
func (h *Hold) History() History { return h.history }

// Release ends the hold as release does, and returns when its node is known to be gone, or ctx
// ends. Of a hold that was lost it returns what Err does.
func (h *Hold) Release(ctx context.Context, then func()) error {
	h.Valid() // the machine may have slept, and no timer have run since
	r, err := h.release(then, false)
	if r == nil {
		return err
	}
	if r.done.IsClosed() { // whatever has become of ctx
		return r.err
	}
	select {
	case <-r.done.Done():
		return r.err
	case <-ctx.Done():
		return client.Ended(ctx)
	}
}

// release ends the hold, calls then unless that is nil, and hands the node on or to the deletes,
// in this order and under the mutex that grants: nobody is to see the next hold, or what the
// owner had besides this one, while this one lives. The deletion is nil if there is none to
// wait for: the hold was lost, or ended with its session, or its node went on to another owner,
// or stays for the queue's minimum. If nobody has come to use the lock the node need not stay: neither
// for that nor for a handoff.
func (h *Hold) release(then func(), unused bool) (*deletion, error) {
	r, first := h.endAndLeave(then, unused)
	if h.IsLost() {
		return nil, h.Err()
	}
	if first && h.history != nil && h.history.Released() {
		h.history.Tell()
	}
	return r, nil
}

// ReleaseUnused gives back a hold that nobody has come to use: it ends the hold, calls then unless that
// is nil, and has the node deleted, in this order. It waits for nothing.
func (h *Hold) ReleaseUnused(then func()) {
	h.release(then, true)
}

// endAndLeave is what release does under the mutex.
func (h *Hold) endAndLeave(then func(), unused bool) (r *deletion, first bool) {
	c := h.contender
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if unused && c.hold == h { // and nobody else has its node by now
		c.unused = true
	}
	first = h.end(released)
	if then != nil {
		then()
		h.left = true
	}
	switch {
	case !first:
		c.endGrace(h)
	case c.handoff == nil || !c.handoff.passOn(c):
		h.deletion = c.leaveLocked()
	}
	return h.deletion, first
}

// SendRelease gives the lock back without waiting for ZooKeeper: it returns when the delete has
// been written to the connection, behind which every later request of this session stands, or
// when ctx ends; at once if the delete has to wait for a connection, or may wait since the lock
// went on within the session. It calls then as release does.
func (h *Hold) SendRelease(ctx context.Context, then func()) {
	h.sendRelease(ctx, then, false)
}

// SendReleaseUnused is SendRelease of a lock that nobody has come to use.
func (h *Hold) SendReleaseUnused(ctx context.Context, then func()) {
	h.sendRelease(ctx, then, true)
}

func (h *Hold) sendRelease(ctx context.Context, then func(), unused bool) {
	r, _ := h.release(then, unused)
	if r == nil {
		return
	}
	sent, link := r.request()
	if sent == nil || !link.Serving() {
		return // nothing is written before a new connection has logged in
	}
	select {
	case <-sent.Written():
	case <-ctx.Done():
	}
}

// StartMinimum counts the queue's minimum and limit from now on, for a call that has waited for
// more than the hold.
func (h *Hold) StartMinimum() {
	s := h.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	h.contender.granted = s.client.Clock.Now()
	h.startLimit()
}

// AwaitOthers has the queue's limit not count before StartMinimum, for a call that waits for more.
func (h *Hold) AwaitOthers() {
	s := h.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	h.stopLimit()
}

// end closes what has to be closed, and reports whether that ended the hold. The session's mu
// is held.
func (h *Hold) end(state int32) bool {
	if !h.state.CompareAndSwap(held, state) {
		return false
	}
	if state == lost {
		h.lost.Close()
	}
	h.stopLimit()
	h.mu.Lock()
	defer h.mu.Unlock()
	for e := h.atEnd; e != nil; e = e.next {
		e.f(h.Err())
	}
	h.atEnd = nil
	return true
}

// WhenEnded calls f with the cause when the hold ends, or at once if it has, unless stop is
// called before. f is called under locks of the session, so that nothing comes between the end
// and f.
func (h *Hold) WhenEnded(f func(cause error)) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.Err(); err != nil {
		f(err)
		return func() {}
	}
	added := &endFunc{f, h.atEnd}
	h.atEnd = added
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for e := &h.atEnd; *e != nil; e = &(*e).next {
			if *e == added {
				*e = added.next
				return
			}
		}
	}
}
