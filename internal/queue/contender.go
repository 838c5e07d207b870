package queue

import (
	"context"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// contender is one place in a lock's queue, from before the create of its node until that is
// known to be gone. It is in its session's live set for that time.
type contender struct {
	queue       *Queue
	incarnation *incarnation // that it was created in
	id          string       // the UUID in its nodes' names
	queues      bool         // it has a place in the queue, which a list has to show
	many        int          // nodes it is to have

	// Known once the create's reply, or a list after it, has told. A semaphore's permits have a
	// node each; of everything else there is only the first.
	node     string
	nodes    []string
	sequence int32
	waited   bool       // others have kept its caller waiting, whose goroutine alone looks at this
	alone    bool       // its last list has shown nobody else
	reads    bool       // it reads what it watches; its caller's goroutine alone looks at this
	token    int64      // the node's czxid, or the token of the writer that it stands beside
	carrier  *wire.Link // that has shown the node
	since    int64      // the queue's czxid, if that is known to have been there for the node's create; or 0

	contradicted struct { // see again; its caller's goroutine alone looks at this
		node  string
		times int
	}

	gone latch.Latch // closed when it has ended

	// Guarded by the session's mu.
	state     state
	cause     error         // why it has ended, if it did so before it left
	loss      *loss         // likewise, of its hold: read without the mutex once that is lost
	hold      *Hold         // the newest; nil if there was none
	granted   clock.Instant // since when the newest hold counts for its queue's minimum, if that has one
	lostAt    clock.Instant // when its hold was lost, whose owner has yet to give it back
	leaving   *deletion     // once left
	selfWatch time.Time     // when its own nodes are to be watched; zero: they are, or need not be
	rest      *time.Timer   // of the queue's minimum, while it lingers

	unused  bool     // nobody has come to use the lock: its nodes need not stay
	revoked bool     // somebody has asked for the lock back
	handoff *handoff // whose node this is; nil for most
	exposed bool     // the owner has asked for the token or the check
	checked bool     // the owner has asked for the check

	// Guarded by the session's mu; see line.go and succession.go.
	counted    bool          // in its queue's line
	among      among         // the session's protected
	successor  *contender    // stands right behind, in this session
	turn       chan struct{} // what c waits for as a successor
	succession *succession   // nil if c was neither handed the lock nor has handed it on
}

// newContender makes a contender of incarnation inc, which it joins before its create is sent,
// so that every list knows its node. The paths of its nodes begin with stem.
func (q *Queue) newContender(inc *incarnation, e entry) (c *contender, stem string) {
	s := q.session
	stem, id := s.ids.next(q.dir, q.kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.register(q, inc, id)
	if c.queues, c.many = e.queues(), e.nodes; e.beside != nil {
		c.token = e.beside.token // writers that queue already have nodes older than this one, and are to have the larger tokens
	}
	c.countIn()
	switch {
	case s.closed, s.admission.Err() != nil && c.isNew():
		c.lose(client.ErrClosed)
	case s.incarnation != inc:
		c.lose(client.ErrSessionOver)
	}
	return c, stem
}

// s.mu is held.
func (s *Session) register(q *Queue, inc *incarnation, id string) *contender {
	c := &contender{queue: q, incarnation: inc, id: id}
	s.live[id] = c
	return c
}

// forget drops contenders whose nodes are gone.
func (s *Session) forget(gone ...*contender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range gone {
		c.countOut()
		delete(s.live, c.id)
	}
}

// created takes the name and czxid that the server gave the node. The session's mu is held.
func (c *contender) created(nodes []string, czxid int64) {
	c.node, c.nodes = nodes[0], nodes
	if c.token == 0 {
		c.token = czxid
	}
	parsed, _ := recipe.Parse(recipe.Base(c.node)) // a permit's name has no sequence that counts
	c.sequence = parsed.Sequence
	c.become(waiting) // unless its call has ended, or is about to
	c.addToIndex()
}

// lose ends the contender, and its hold as lost: its node is gone or worth nothing. The
// session's mu is held.
func (c *contender) lose(cause error) { c.markLost(cause)() }

// markLost is lose that leaves the rest, beyond the end itself, to its caller.
func (c *contender) markLost(cause error) (rest func()) {
	s, isLost := c.queue.session, c.end(cause, lost)
	if isLost && !c.isGoneBy(cause) {
		c.lostAt = s.client.Clock.Now()
	}
	return func() {
		if isLost && !c.queue.isTurns() {
			s.client.Log.Warn("zklock: lock lost", "path", c.queue.path, "node", c.node, "session", client.Hex(c.incarnation.id), "cause", cause)
			if history := c.hold.history; history != nil && history.Lost(cause) {
				s.client.Tell(history.Tell)
			}
		}
		if c.hold != nil {
			c.leaveLocked() // the session may live, and the node with it
		} else {
			c.retire()
		}
	}
}

// end ends the contender, unless it has ended, and its hold as that says. It reports whether
// there was one. The session's mu is held.
func (c *contender) end(cause error, hold int32) (wasHeld bool) {
	if !c.become(ended) {
		return false
	}
	c.cause, c.loss = cause, &loss{cause}
	c.gone.Close()
	return c.hold != nil && c.hold.end(hold)
}

// retire takes c out of everything but the live set. It may be called more than once. The
// session's mu is held.
func (c *contender) retire() {
	c.removeFromIndex()
	if c.handoff != nil {
		c.handoff.forget(c)
	}
	c.queue.session.protected.remove(c)
	c.selfWatch = time.Time{}
	if c.rest != nil {
		c.rest.Stop()
	}
}

func (c *contender) whyGone() error {
	c.queue.session.mu.Lock()
	defer c.queue.session.mu.Unlock()
	return c.cause
}

// leaveWhenCreated has c, whose call has ended, leave as soon as it is known what its create has come
// to, which created waits for.
func (c *contender) leaveWhenCreated(created func() error) {
	s := c.queue.session
	s.mu.Lock()
	if c.node == "" {
		c.become(abandoned)
	} else {
		c.leaveUnusedLocked()
	}
	s.mu.Unlock()
	s.client.CleanUp(func() {
		if created() == nil {
			<-c.leaveUnused().done.Done()
		}
	})
}

// leaveUnused leaves a place that its call has come to nothing with: the node is deleted in the
// background. It may be called more than once.
func (c *contender) leaveUnused() *deletion {
	c.queue.session.mu.Lock()
	defer c.queue.session.mu.Unlock()
	return c.leaveUnusedLocked()
}

// leaveUnusedLocked is leaveUnused for whoever has the session's mu.
func (c *contender) leaveUnusedLocked() *deletion {
	c.unused = true
	return c.leaveLocked()
}

// leaveLocked ends the hold, if there is one, and has the nodes deleted: later, and without a
// deletion for now, if they have to stay. The session's mu is held.
func (c *contender) leaveLocked() *deletion {
	held := c.state == holding
	if held {
		c.hold.end(released)
	}
	if c.linger() {
		return nil
	}
	if held {
		c.handOver()
	}
	if c.become(leaving) {
		c.retire()
		c.leaving = c.queue.session.deleteLater(c)
	}
	return c.leaving
}

// linger keeps the nodes of c, whose hold has ended, if they are to stay, and reports whether
// they are. Nobody is next meanwhile, in this session either. Neither the lease nor a loss ends
// that: nobody acts on these nodes. The session's mu is held.
func (c *contender) linger() bool {
	left := c.remaining()
	if left <= 0 || c.state != lingering && !c.become(lingering) {
		return false
	}
	c.retire()
	c.rest = c.queue.session.after(left, func() { c.leaveLocked() }) // which lingers on if the timer is ahead of the clock
	return true
}

// isGoneBy reports whether nothing of c is left on the servers if it ends for that cause.
func (c *contender) isGoneBy(cause error) bool { return cause == errNodeDeleted && len(c.nodes) == 1 }

// remaining returns how much of its queue's minimum, or of its grace after a loss, is left to c's
// nodes. The session's mu is held.
func (c *contender) remaining() (left time.Duration) {
	s, o := c.queue.session, c.queue.options
	if c.unused || s.isOver(c) {
		return 0
	}
	if o.MinHold > 0 && !c.isGoneBy(c.cause) {
		left = o.MinHold - s.client.Clock.Now().Least(c.granted)
	}
	return max(left, c.grace())
}

// grace returns how much of it is left after a loss. The session's mu is held.
func (c *contender) grace() time.Duration {
	s := c.queue.session
	if c.lostAt.IsZero() || s.isOver(c) {
		return 0
	}
	return c.queue.options.LossGrace - s.client.Clock.Now().Least(c.lostAt)
}

// endGrace says that the owner of h, if that is the hold that was lost, has stopped. The
// session's mu is held.
func (c *contender) endGrace(h *Hold) {
	if c.hold != h {
		return
	}
	c.lostAt = clock.Instant{}
	c.lingerLess()
}

// lingerLess takes that there is less for c to linger for. The session's mu is held.
func (c *contender) lingerLess() {
	if c.state == lingering {
		c.leaveLocked()
	}
}

// grant turns the place at the head of the queue, which seen has shown, into a hold, unless the
// place was lost or ctx has ended. The lease's clock is read last. If seen is no longer the
// connection, what happened between the two may have gone unseen: client.ErrStale.
func (c *contender) grant(ctx context.Context, seen *wire.Link) (*Hold, error) {
	if err := c.secure(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // which may be a user's code
		return nil, client.Ended(ctx)
	}
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(c.incarnation, s.client.Clock.Now())
	if c.cause != nil {
		return nil, c.cause
	}
	if s.link != seen {
		return nil, client.ErrStale
	}
	return c.possess(), nil
}

// The session's mu is held.
func (c *contender) possess() *Hold {
	if c.become(holding) { // not handed over meanwhile
		c.newHold()
		c.watchSelfLater(&c.queue.session.selfWatches)
	}
	return c.hold
}

// newHold begins a possession of c's node, one for each of its owners. The session's mu is
// held.
func (c *contender) newHold() *Hold {
	c.hold, c.unused = new(Hold), false
	c.hold.contender = c
	if c.queue.options.MinHold > 0 {
		c.granted = c.queue.session.client.Clock.Now()
	}
	if newHistory := c.queue.options.NewHistory; newHistory != nil {
		c.hold.history = newHistory(c.node, c.token)
	}
	if c.revoked {
		c.hold.revoked.Close()
	}
	c.hold.startLimit()
	return c.hold
}

// onContent takes what c's node says, which may have the mark. An operator may have deleted the
// node and made another one of its name. The session's mu is held.
func (c *contender) onContent(said client.Content) {
	if said.Stat.EphemeralOwner != c.incarnation.id {
		c.lose(errNodeDeleted)
		return
	}
	if _, asked := recipe.Revocation(said.Data); asked {
		c.revoke()
	}
}

// revoke notes that somebody has asked for the lock back. It may be called more than once. The
// session's mu is held.
func (c *contender) revoke() {
	c.revoked = true
	if c.hold != nil {
		c.hold.revoked.Close()
	}
	if c.handoff != nil && c.handoff.keeps(c) {
		c.leaveLocked()
	}
}
