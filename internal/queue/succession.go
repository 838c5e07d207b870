package queue

import (
	"context"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
)

// Succession hands a lock from one contender to the next within a session, still in the order
// of the queue, without waiting for ZooKeeper. It is sound since nobody is in between: a list
// showed the two as neighbours, or their sequences follow each other in one queue. An operator may
// have deleted that meanwhile, and another one counts from zero. It is for exclusive locks only: a
// writer may leave a reader in its place.

// succession is what all contenders have in common that have handed a lock from one to the
// next: who has it. None of them knows the next one by itself, so that an old hold keeps no
// later ones in memory.
type succession struct{ holder *contender } // nil if the lock is lost, or free

// holder returns who has the lock that c has had, or nil. The session's mu is held.
func (c *contender) holder() *contender {
	if c.succession == nil {
		return nil
	}
	return c.succession.holder
}

// followNext makes c the successor of the contender of this session, if there is one, that has
// the sequence before its own in the same queue; unless it is that already, or was.
func (c *contender) followNext() <-chan struct{} {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	ahead := s.index.at[indexKey{c.queue.dir, c.sequence - 1}]
	switch {
	case c.state == holding:
		return latch.Closed
	case ahead == nil:
		return nil
	}
	return c.followLocked(recipe.Succession{SameQueue: c.since != 0 && c.since <= ahead.token && ahead.token < c.token}, ahead)
}

// follow makes c the successor of the contender that its list shows right ahead, if that is one
// of this session's.
func (c *contender) follow(nearest recipe.Node) <-chan struct{} {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	ahead := s.index.at[indexKey{c.queue.dir, nearest.Sequence}]
	if ahead == nil || recipe.Base(ahead.node) != nearest.Name {
		return nil
	}
	return c.followLocked(recipe.Succession{Listed: true}, ahead)
}

// followLocked returns a channel that closes when c was handed the lock or has to look at the
// queue again; nil if c cannot follow. The session's mu is held.
func (c *contender) followLocked(seen recipe.Succession, ahead *contender) <-chan struct{} {
	seen.Ahead, seen.Self = ahead.listed(), c.listed()
	if ahead.incarnation != c.incarnation || c.state != waiting || !seen.Allowed() {
		return nil
	}
	switch before := ahead.successor; {
	case before == c:
		return c.turn
	case before != nil:
		before.wake() // its node is gone, of which it may not have been told
	}
	c.turn = make(chan struct{})
	ahead.successor = c
	c.watchSelfLater(&c.queue.session.selfWatches)
	return c.turn
}

// wake ends what follow began. The session's mu is held.
func (c *contender) wake() {
	if c.turn != nil {
		close(c.turn)
		c.turn = nil
	}
}

// handOver grants the lock, which c held until now, to its successor, unless it cannot, or a
// check of c's node is to fail first. The session's mu is held.
func (c *contender) handOver() {
	next := c.successor
	if c.checked || next == nil || next.state != waiting {
		return
	}
	s := c.queue.session
	now := s.client.Clock.Now()
	if next.incarnation != c.incarnation || !s.runs(c.incarnation, now) {
		return
	}
	s.protect(next, now)
	next.possess() // and is told when c retires
	if c.succession == nil {
		c.succession = new(succession)
	}
	next.succession, c.succession.holder = c.succession, next
}

// awaitTurn waits until c was handed the lock; nil without a hold when c has to look at the
// queue instead.
func (c *contender) awaitTurn(ctx context.Context, turn <-chan struct{}) (*Hold, error) {
	client.Queues(ctx, true)
	defer client.Queues(ctx, false)
	select {
	case <-turn:
	case <-c.gone.Done():
		return nil, nil
	case <-ctx.Done():
		return nil, client.Ended(ctx)
	}
	return c.handed(ctx)
}

// handed returns the hold that c was handed, if it was and ctx goes on. It may be lost already:
// its owner has yet to hear of it. A session of which everybody only waits has no lease to look at.
func (c *contender) handed(ctx context.Context) (*Hold, error) {
	if ctx.Err() != nil { // which may be a user's code
		return nil, client.Ended(ctx)
	}
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.hold != nil {
		s.expire(c.incarnation, s.client.Clock.Now())
	}
	if c.cause != nil {
		return nil, c.cause
	}
	return c.hold, nil
}
