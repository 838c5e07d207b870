package queue

import (
	"container/list"
	"context"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
)

// handoff lets the owners inside one process share a node, one after the other (lock cohorting:
// Dice, Marathe and Shavit, 2012). While nobody else queues, they may go on as they like;
// otherwise limit of them share a turn. The session's mu guards what changes of it.
type handoff struct {
	queue     *Queue
	limit     int           // owners that share a turn
	retention time.Duration // for which the node of the last one is kept

	node       *contender    // the handoff's place at the head of the queue, nil if it has none
	fetching   bool          // a member fetches the lock for the handoff, or is called to
	place      *contender    // in the queue, of the one before it, who gave up; nil if none is left
	standing   *contender    // in the queue for all who wait, unless it has ended; nil if none has come as far
	waiting    list.List     // of *member
	owners     int           // that the turn has had
	contention contention    // that node has in the queue
	watching   bool          // watchQueue runs for node
	idle       clock.Instant // since when node is kept for an owner; zero while it has one
	expiry     *time.Timer   // ends the keeping; runs on while the node is used
}

// NewHandoff returns what stands in q for owners of whom limit share a turn, and keeps the node
// of the last one for so long.
func NewHandoff(q *Queue, limit int, retention time.Duration) Source {
	q.handoff = &handoff{queue: q, limit: limit, retention: retention}
	return q.handoff
}

// member is a caller that waits for its handoff.
type member struct {
	called chan struct{} // closed when it was handed hold, or has to fetch the lock
	hold   *Hold
}

// Acquire takes the lock by the handoff's node, or gets the handoff one.
func (t *handoff) Acquire(ctx context.Context, call Call) (*Hold, error) {
	s, done := t.queue.session, ctx.Done()
	s.mu.Lock()
	if h := t.resume(); h != nil {
		s.mu.Unlock()
		acquired(call, h)
		return h, nil
	}
	// Without a turn to share, each owner has its own place in the queue.
	if t.limit == 1 || t.node == nil && !t.fetching {
		t.fetching = true
		s.mu.Unlock()
		return t.fetch(ctx, call, t.queue.Acquire)
	}
	m := &member{called: make(chan struct{})}
	place := t.waiting.PushBack(m)
	s.mu.Unlock()
	select {
	case <-m.called:
	case <-s.admission.Done():
		t.leave(m, place)
		return nil, client.ErrClosed
	case <-done:
	}
	switch {
	case latch.IsClosed(done):
		if t.leave(m, place) {
			return nil, TimedOut(ctx, client.Ended(ctx))
		}
		return nil, client.Ended(ctx)
	case m.hold == nil:
		return t.fetch(ctx, call, t.queue.Acquire)
	case !m.hold.Valid():
		m.hold.release(nil, false)
		return t.Acquire(ctx, call)
	}
	acquired(call, m.hold)
	return m.hold, nil
}

// Try is Acquire without waiting for another owner.
func (t *handoff) Try(ctx context.Context, call Call) (*Hold, error) {
	s := t.queue.session
	s.mu.Lock()
	if h := t.resume(); h != nil {
		s.mu.Unlock()
		acquired(call, h)
		return h, nil
	}
	if s.admission.Err() == nil && (t.node != nil || t.fetching) {
		s.mu.Unlock()
		return nil, ErrLocked
	}
	t.fetching = true
	s.mu.Unlock()
	return t.fetch(ctx, call, t.queue.Try)
}

// leave takes m, whose call ends, out of the handoff. It reports whether the lock had to be waited for.
func (t *handoff) leave(m *member, place *list.Element) (queued bool) {
	s := t.queue.session
	s.mu.Lock()
	queued = m.hold != nil || t.standing != nil && t.standing.state < ended
	t.waiting.Remove(place)
	if latch.IsClosed(m.called) && m.hold == nil {
		t.fetching = false
		t.callNext()
	}
	s.mu.Unlock()
	if m.hold != nil {
		m.hold.release(nil, false)
	}
	return queued
}

// fetch stands in the queue for the handoff, whose node the one that it gets is.
func (t *handoff) fetch(
	ctx context.Context, call Call, acquire func(context.Context, Call) (*Hold, error),
) (h *Hold, err error) {
	defer func() { t.fetched(h) }() // also if a function of the trace panics
	if t.limit > 1 {
		var stalls *client.StallLog
		ctx, stalls = t.queue.session.client.LogStallsForAll(ctx, t.queue.path)
		defer stalls.End()
	}
	return acquire(ctx, call)
}

// fetched ends a fetch, which has got the handoff h; nil if nothing.
func (t *handoff) fetched(h *Hold) {
	s := t.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fetching = false
	if h == nil || h.Err() != nil { // lost by now, and no handoff's any more
		t.callNext()
		return
	}
	t.forgetNode() // of a node that was deleted unnoticed
	t.node, t.owners, t.contention, t.watching = h.contender, 1, unknown, false
	h.contender.handoff = t
	if t.retention > 0 {
		t.startWatching()
	}
}

// keepPlace keeps the place of a member for the next one of those who wait, if it has only given
// up, by the error of its call, and reports whether it did. If each began at the tail, members
// with a deadline might never come as far as the head. Who was asked to give the lock back is
// done with it.
func (t *handoff) keepPlace(c *contender, err error) bool {
	if t == nil || !client.LooksEnded(err) {
		return false
	}
	s := t.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.waiting.Len() == 0 || c.state >= ended || c.revoked {
		return false
	}
	t.place = c
	return true
}

// arrived notes that c stands in the queue, for all who wait.
func (t *handoff) arrived(c *contender) {
	if t == nil {
		return
	}
	s := t.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	t.standing = c
}

// takePlace returns the place that the member before has left, nil if there is none.
func (t *handoff) takePlace() *contender {
	if t == nil {
		return nil
	}
	s := t.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.takePlaceLocked()
}

func (t *handoff) takePlaceLocked() *contender {
	c := t.place
	t.place = nil
	return c
}

// callNext has the first of those who wait fetch the lock, which the handoff neither has
// nor fetches for them yet. s.mu is held.
func (t *handoff) callNext() {
	if t.waiting.Len() == 0 {
		t.standing = nil // nor is its hold kept in memory
		if c := t.takePlaceLocked(); c != nil {
			c.leaveUnusedLocked()
		}
		return
	}
	t.fetching = true
	close(t.pop().called)
}

func (t *handoff) pop() *member { return t.waiting.Remove(t.waiting.Front()).(*member) }

// resume takes the lock by the node that was kept, which is given up instead for whoever
// queues: the watch is about to tell. s.mu is held.
func (t *handoff) resume() *Hold {
	switch {
	case t.idle.IsZero() || !t.queue.session.runs(t.node.incarnation, t.queue.session.client.Clock.Now()):
		return nil
	case !t.seesNobody(t.node):
		t.node.leaveLocked()
		return nil
	}
	t.idle = clock.Instant{}
	t.owners++
	return t.node.newHold()
}

// passOn gives the node of c, whose owner leaves, to the next owner or keeps it for one, and
// reports whether it did: else the node has to go. A node whose token or check somebody has
// asked for belongs to that owner alone, and what nobody has come to use, or can, is not kept. Whether
// the lease runs is for the next owner to find out, who looks in any case. s.mu is held.
func (t *handoff) passOn(c *contender) bool {
	if t.node != c || c.revoked || c.exposed || c.unused || c.queue.session.admission.Err() != nil {
		return false
	}
	switch {
	case t.waiting.Len() > 0:
		t.startWatching()
		if t.owners >= t.limit && (t.contention != alone || c.othersInLine() > 0) {
			return false
		}
		t.owners++
		next := t.pop()
		next.hold = c.newHold()
		close(next.called)
		return true
	case t.retention > 0 && t.seesNobody(c):
		t.idle = c.queue.session.client.Clock.Now()
		if t.expiry == nil {
			t.expiry = c.queue.session.after(t.retention, t.endRetention)
		}
		return true
	}
	return false
}

// endRetention gives up the node if it was kept for long enough, whichever its timer was set for. s.mu
// is held.
func (t *handoff) endRetention() {
	t.expiry = nil
	if t.idle.IsZero() {
		return
	}
	s := t.queue.session
	if left := t.retention - s.client.Clock.Now().Least(t.idle); left > 0 {
		t.expiry = s.after(left, t.endRetention)
	} else {
		t.node.leaveLocked()
	}
}

// forget ends the handoff's use of c, which is lost or left. s.mu is held.
func (t *handoff) forget(c *contender) {
	if t.node != c {
		return
	}
	t.forgetNode()
	t.callNext()
}

// keeps reports whether c is kept for an owner to come. s.mu is held.
func (t *handoff) keeps(c *contender) bool { return t.node == c && !t.idle.IsZero() }

// s.mu is held.
func (t *handoff) forgetNode() {
	t.node, t.idle = nil, clock.Instant{}
	if t.expiry != nil {
		t.expiry.Stop()
		t.expiry = nil
	}
}
