package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// wait stays in the queue until the lock is c's, from view on if that is not nil.
func (c *contender) wait(ctx context.Context, view *listing) (*Hold, error) {
	if view == nil {
		if turn := c.followNext(); turn != nil {
			h, err := c.awaitTurn(ctx, turn)
			if err != nil && ctx.Err() != nil {
				err = timedOut(err)
			}
			if h != nil || err != nil {
				return h, err
			}
		}
	}
	behind := false
	for {
		h, err := c.handed(ctx)
		if h != nil || err != nil {
			return h, err
		}
		var ahead []child
		view, ahead, err = c.place(ctx, view)
		switch {
		case err != nil:
		case len(ahead) == 0:
			h, err = c.grant(ctx)
		default:
			h, err = c.waitBehind(ctx, view, ahead)
			behind = true
		}
		if behind && err != nil && ctx.Err() != nil {
			err = timedOut(err)
		}
		if h != nil || err != nil {
			return h, err
		}
		view = nil
	}
}

// waitBehind watches c's own node, the nearest contender ahead, and the one
// before that, until one of them changes. If that alone proves that the lock is
// c's, it returns the hold; without one and without an error the queue has to be
// listed again.
func (c *contender) waitBehind(ctx context.Context, view *listing, ahead []child) (*Hold, error) {
	s, dir := c.queue.session, c.queue.dir
	own := s.watch(c.node)
	nearest := ahead[len(ahead)-1]
	next := s.watch(join(dir, nearest.name))
	var early <-chan struct{}
	if len(ahead) > 1 {
		// When that one goes, the list is renewed while the nearest still holds
		// the lock, so that its release needs none.
		early = s.watch(join(dir, ahead[len(ahead)-2].name)).fired
	} else if err := c.secure(ctx); err != nil {
		return nil, err
	}
	select {
	case <-c.follow(nearest):
		return c.handed(ctx)
	case <-next.fired:
	case <-early:
		return nil, nil
	case <-own.fired:
		return nil, own.refusal()
	case <-view.link.down:
		return nil, nil
	case <-c.gone:
		return nil, c.whyGone()
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	if err := next.refusal(); err != nil {
		return nil, err
	}
	// A select picks at random: if our own node went too, that comes first.
	if err := c.whyGone(); err != nil {
		return nil, err
	}
	if len(ahead) == 1 && c.succeeds(view, nearest, own, next) {
		return c.grant(ctx)
	}
	return nil, nil
}

// succeeds tells whether the end of the only contender ahead proves, without
// another list, that c is at the head of the queue.
func (c *contender) succeeds(view *listing, nearest child, own, next *watch) bool {
	return next.deleted && next.isArmed() &&
		// Without a watch on our own node, its deletion would have gone unseen.
		own.isArmed() && !own.hasFired() &&
		// A downgrade leaves a reader with its writer's sequence.
		(nearest.kind != writing || c.queue.kind == reading) &&
		// The end of a session that has both nodes deletes them in any order.
		next.stat.EphemeralOwner != c.epoch.id &&
		// Watches that are set again after a reconnect fire in any order.
		own.link == view.link && next.link == view.link && c.queue.session.current() == view.link
}

// hasFired tells whether the watch is over.
func (w *watch) hasFired() bool {
	select {
	case <-w.fired:
		return true
	default:
		return false
	}
}

// refusal returns why a watch cannot be had, if trying again would not help.
func (w *watch) refusal() error {
	select {
	case <-w.armed:
	default:
		return nil
	}
	if w.err == nil || errors.Is(w.err, zk.ErrNoNode) || transient(w.err) {
		return nil
	}
	return fmt.Errorf("a node in the lock's queue cannot be watched: %w", w.err)
}
