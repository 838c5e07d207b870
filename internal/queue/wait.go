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
			c.behind = true
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
			c.behind = true
			h, err = c.waitBehind(ctx, at)
		}
		switch {
		case errors.Is(err, client.ErrStale):
			continue
		case c.behind:
			err = TimedOut(ctx, err)
		}
		if h != nil || err != nil {
			return h, err
		}
	}
}

// farAway is the round trip from which on it pays to send requests ahead of their need. Nearer
// than that, the server's work for them costs the others more than the waiter gains.
const farAway = time.Millisecond

// waitBehind watches the nearest contender ahead, and what else bears on c's turn, until one of
// them changes. If that alone proves that the lock is c's, it returns the hold; without one and
// without an error the queue has to be listed again.
func (c *contender) waitBehind(ctx context.Context, at place) (*Hold, error) {
	if turn := c.follow(at.Nearest); turn != nil {
		return c.awaitTurn(ctx, turn)
	}
	s, dir := c.queue.session, c.queue.dir
	next := s.client.Watch(client.WatchKey{Path: recipe.Join(dir, at.Nearest.Name)})
	var own, early *client.Watch // without own, c cannot be granted the lock by next alone
	switch far := c.queue.session.lease.RoundTrip() >= farAway; {
	case at.Ahead == 1:
		own = s.client.Watch(client.WatchKey{Path: c.node})
		if !at.next {
			break
		}
		if err := c.secure(ctx); err != nil {
			return nil, err
		}
	case far:
		own = s.client.Watch(client.WatchKey{Path: c.node})
		// When the last but one goes, the list is renewed while the nearest still holds the
		// lock, so that its release needs none.
		early = s.client.Watch(client.WatchKey{Path: recipe.Join(dir, at.Before.Name)})
	default:
		s.mu.Lock()
		c.watchSelfLater(&s.listersWatches)
		s.mu.Unlock()
	}
	client.Queues(ctx, true)
	defer client.Queues(ctx, false)
	select {
	case <-next.Fired:
	case <-early.End():
		return nil, early.Refusal()
	case <-own.End():
		return nil, own.Refusal()
	case <-at.link.Down():
		return nil, nil
	case <-c.gone.Done():
		return nil, nil // who lists the queue asks why
	case <-ctx.Done():
		return nil, client.Ended(ctx)
	}
	err := next.Refusal()
	if next.CameLate() { // it was listed: if it is again, only the server's data can be the reason
		err = c.again(ctx, recipe.Join(dir, at.Nearest.Name))
	}
	if err != nil || at.Ahead > 1 {
		return nil, err
	}
	select { // the answer is on its way if it is not there yet
	case <-own.Armed:
	case <-at.link.Down():
	case <-c.gone.Done():
	case <-ctx.Done():
		return nil, client.Ended(ctx)
	}
	if !c.succeeds(at, own, next) {
		return nil, nil
	}
	return c.grant(ctx, at.link)
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
func (c *contender) succeeds(at place, own, next *client.Watch) bool {
	return recipe.Wakeup{
		Self:           c.queue.kind,
		Position:       at.Position,
		Deleted:        next.Deleted,
		SameSession:    !next.CameLate() && !(next.IsArmed() && next.Stat.EphemeralOwner != c.incarnation.id),
		OwnWatched:     own.IsArmed() && !own.HasFired(),
		SameConnection: own.Link == at.link && next.Link == at.link && c.queue.session.client.Current() == at.link,
	}.Proves()
}
