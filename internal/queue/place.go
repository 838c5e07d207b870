package queue

import (
	"cmp"
	"context"
	"errors"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// listing is the queue as one list of the path's children showed it.
type listing struct {
	*client.List
	// along says that the list was sent before our create was answered: that our node is
	// missing proves nothing then.
	along bool
	part  bool // it is only of those ahead, and of the asker
}

// look reads as much of the queue as tells c's place in it.
func (c *contender) look(ctx context.Context) (*listing, error) {
	return c.readBy(ctx, func(ctx context.Context) (*listing, error) {
		if view, err := c.askAhead(ctx); view != nil || err != nil {
			return view, err
		}
		return c.list(ctx)
	})
}

// readBy calls how while c's session is there.
func (c *contender) readBy(ctx context.Context, how func(context.Context) (*listing, error)) (view *listing, err error) {
	s := c.queue.session
	err = s.client.Retry(ctx, func() (err error) {
		if err := c.whyGone(); err != nil {
			return client.Permanent(err)
		}
		if err := c.awaitConnection(ctx); err != nil {
			return client.Permanent(err)
		}
		view, err = how(ctx)
		return err
	})
	return view, err
}

// list lists the whole queue.
func (c *contender) list(ctx context.Context) (*listing, error) {
	client.WaitsFor(ctx, "a list of the queue")
	list, err := c.queue.session.client.JoinList(c.queue.dir).Wait(ctx)
	if err != nil {
		return nil, err
	}
	c.show(list)
	return &listing{List: list}, nil
}

// place is where c stands in the queue, and all that it keeps of a list.
type place struct {
	recipe.Position
	next bool       // the lock is c's after the one that has it now
	link *wire.Link // that carried the list
}

// place returns where c stands, by view if that can be trusted, or by a new list.
func (c *contender) place(ctx context.Context, view *listing) (place, error) {
	for {
		if view == nil {
			var err error
			if view, err = c.look(ctx); err != nil {
				return place{}, err
			}
		}
		p, err := view.placeAmong(view.Nodes(), c)
		switch {
		case errors.Is(err, errNodeDeleted) && c.queue.isStale(ctx, c.node):
			err = cmp.Or(c.again(ctx, c.node), client.ErrStale)
		case err == nil && p.Foreign:
			p, err = c.pastForeign(ctx, view)
		}
		c.alone = !view.part && !c.queue.othersAmong(view.Names, recipe.Base(c.node))
		if err == nil {
			err = c.queue.mixed(ctx, view.Names)
		}
		if !errors.Is(err, client.ErrStale) {
			return p, err
		}
		view = nil
	}
}

// isStale reports whether the leader and the server differ about a node, which ends the connection.
func (q *Queue) isStale(ctx context.Context, node string) bool {
	asked := q.session.client
	return client.IsStale(asked.ConfirmUnder(ctx, func() error { return asked.Confirm(node) }))
}

// placeAmong returns where c stands by those of the listed nodes that count. Its errors end the
// place in the queue, but for client.ErrStale, after which the queue has to be listed again.
func (v *listing) placeAmong(nodes []recipe.Node, c *contender) (place, error) {
	p := place{link: v.Link}
	if v.Link.ID != c.incarnation.id {
		return p, client.ErrStale
	}
	var err error
	p.Position, err = recipe.Locate(nodes, c.listed())
	switch {
	case err == nil:
		p.next = p.InTheWay(nodes) == 1 && !c.queue.ofSemaphore()
		return p, nil
	case !errors.Is(err, recipe.ErrMissing):
		return p, err
	case v.along:
		return p, client.ErrStale
	}
	return p, errNodeDeleted
}

// listed returns c's node as a list shows it.
func (c *contender) listed() recipe.Node {
	return recipe.Node{Name: recipe.Base(c.node), Kind: c.queue.kind, Sequence: c.sequence}
}
