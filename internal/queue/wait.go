package queue

import (
	"context"
	"errors"

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
