package queue

import (
	"context"
	"errors"
	"time"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// wait stays in the queue until the lock is c's, from view on if that is not nil.
func (c *contender) wait(ctx context.Context, view *listing) (*Hold, error) {
	if view == nil {
		if turn := c.followNext(); turn != nil {
			c.waited = true
			if h, err := c.awaitTurn(ctx, turn); h != nil || err != nil {
				return h, TimedOut(ctx, err)
			}
		}
	}
	for {
		var h *Hold
		at, err := c.place(ctx, view)
		view = nil
		switch {
		case client.Answers(err, recipe.ErrUnordered):
			err = c.outwait(ctx)
		case err != nil:
		case at.Ahead == 0:
			h, err = c.grant(ctx, at.link)
		default:
			c.waited = true
			h, err = c.waitBehind(ctx, at)
		}
		switch {
		case errors.Is(err, client.ErrStale):
			continue
		case c.waited:
			err = TimedOut(ctx, err)
		}
		if h != nil || err != nil {
			return h, err
		}
	}
}

// waitBehind watches the nearest contender ahead, and what else bears on c's turn, until one of
// them changes. If that alone proves that the lock is c's, it returns the hold; without one and
// without an error the queue has to be listed again.
func (c *contender) waitBehind(ctx context.Context, at place) (*Hold, error) {
	if turn := c.follow(at.Nearest); turn != nil {
		return c.awaitTurn(ctx, turn)
	}
	w := c.watchAhead(at)
	if at.next {
		if err := c.secure(ctx); err != nil {
			return nil, err
		}
	}
	client.Queues(ctx, true)
	defer client.Queues(ctx, false)
	select {
	case <-w.next.Fired:
	case <-w.before.End():
		return nil, c.queue.refusal(ctx, w.before, at.Before)
	case <-w.own.End():
		return nil, w.own.Refusal()
	case <-at.link.Down():
		return nil, nil
	case <-c.gone.Done():
		return nil, nil // who lists the queue asks why
	case <-ctx.Done():
		return nil, client.Ended(ctx)
	}
	err := c.queue.refusal(ctx, w.next, at.Nearest)
	if w.next.CameLate() { // it was listed: if it is again, only the server's data can be the reason
		err = c.again(ctx, recipe.Join(c.queue.dir, at.Nearest.Name))
	}
	if err != nil || at.Ahead > 1 {
		return nil, err
	}
	select { // the answer is on its way if it is not there yet
	case <-w.own.Armed:
	case <-at.link.Down():
	case <-c.gone.Done():
	case <-ctx.Done():
		return nil, client.Ended(ctx)
	}
	if !c.succeeds(at, w) {
		return nil, nil
	}
	c.haveRead(at.Nearest.Name, w.next)
	return c.grant(ctx, at.link)
}

// refusal returns why a contender's node cannot be watched, unless nobody but the server has that node.
func (q *Queue) refusal(ctx context.Context, w *client.Watch, n recipe.Node) error {
	err := w.Refusal()
	if client.Refused(err) && q.isStale(ctx, q.watchKey(n).Path) {
		return client.ErrStale
	}
	return err
}

// again is called before the queue is listed again because a server has contradicted itself about
// that node. It pauses from the second time on.
func (c *contender) again(ctx context.Context, node string) error {
	if c.contradicted.node != node {
		c.contradicted.node, c.contradicted.times = node, 0
		return nil
	}
	c.contradicted.times++
	return c.queue.session.client.Sleep(ctx, backoff.Before(c.contradicted.times))
}

// succeeds reports whether the end of the only contender ahead proves, without another list,
// that c is at the head of the queue.
func (c *contender) succeeds(at place, w watched) bool {
	own, next := w.own, w.next
	return recipe.Wakeup{
		Self:           c.queue.kind,
		Position:       at.Position,
		Deleted:        next.Deleted,
		SameSession:    !next.CameLate() && !(next.IsArmed() && c.isAnothers(at.Nearest.Name, next)),
		OwnWatched:     own.IsArmed() && !own.HasFired(),
		SameConnection: own.Link == at.link && next.Link == at.link && c.queue.session.client.Current() == at.link,
	}.Proves()
}

// watched is by what a waiter learns of its turn.
type watched struct {
	next   *client.Watch // on the nearest contender ahead
	own    *client.Watch // on its own node: without it, next alone cannot grant the lock
	before *client.Watch // on the one before the nearest; nil for most
}

// farAway is the round trip from which on it pays to send requests ahead of their need. Nearer
// than that, the server's work for them costs the others more than the waiter gains.
const farAway = time.Millisecond

// watchAhead watches what bears on c's turn.
func (c *contender) watchAhead(at place) watched {
	s, node := c.queue.session, func(n recipe.Node) string { return recipe.Join(c.queue.dir, n.Name) }
	watch := func(path string) *client.Watch { return s.client.Watch(client.WatchKey{Path: path}) }
	switch {
	case at.Ahead == 1 && !c.reads && c.mayRead(at.Nearest.Name):
		c.reads = true // what has changed since its create ends these watches at once, each time
		both := s.client.WatchSince(c.token, node(at.Nearest), c.node)
		return watched{next: both[0], own: both[1]}
	case at.Ahead == 1:
		return watched{next: watch(node(at.Nearest)), own: watch(c.node)}
	case s.lease.RoundTrip() >= farAway:
		// When the last but one goes, the list is renewed while the nearest still holds the
		// lock, so that its release needs none.
		return watched{next: watch(node(at.Nearest)), own: watch(c.node), before: watch(node(at.Before))}
	}
	next := watch(node(at.Nearest))
	s.mu.Lock()
	defer s.mu.Unlock()
	c.watchSelfLater(&s.listersWatches)
	return watched{next: next}
}

// haveRead notes that c's watches have read its own node and that of the other session's contender.
func (c *contender) haveRead(name string, next *client.Watch) {
	if maker, ok := makerOf(name); ok && next.Stat != nil && !c.mayRead(name) {
		c.queue.readable.Store(&maker)
	}
}

// mayRead reports whether nodes by the same maker, and ours, were read here before. One session's nodes in a
// queue mostly have the same ACL, and who waits for long reads this one too.
func (c *contender) mayRead(name string) bool {
	maker, _ := makerOf(name)
	read := c.queue.readable.Load()
	return read != nil && *read == maker
}

// isAnothers reports whether the node, which next watches, is another session's.
func (c *contender) isAnothers(name string, next *client.Watch) bool {
	if next.Stat == nil {
		_, ours := c.queue.session.ids.of(name)
		return recipe.Ours(name) && !ours
	}
	return next.Stat.EphemeralOwner != c.incarnation.id
}
