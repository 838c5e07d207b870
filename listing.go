package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// listing is the queue as one list of the path's children showed it.
type listing struct {
	link     *link // that carried it
	children []child
	// early says that the list was sent before our create was answered: that
	// our node is missing proves nothing then.
	early bool
}

// list reads the queue. It is called from a goroutine made by send.
func (s *Session) list(dir string) (*listing, error) {
	before := s.current()
	names, _, err := s.conn.Children(dir)
	if errors.Is(err, zk.ErrNoAuth) {
		return nil, fmt.Errorf("the ACL of %s does not let this session list its children: %w", dir, err)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	if before == nil || s.current() != before {
		return nil, errStale
	}
	s.sweep(before, dir, names)
	return &listing{link: before, children: contendersIn(names)}, nil
}

// freshList reads the queue as it was at some instant of this call: the sync
// that goes ahead of it makes the server catch up first.
func (s *Session) freshList(ctx context.Context, dir string) (*listing, error) {
	if _, _, err := s.await(ctx, anySession); err != nil {
		return nil, err
	}
	key := tapKey{opSync, dir}
	seen := s.taps.add(key)
	synced := send(s, func() (string, error) {
		defer s.taps.drop(key, seen)
		return s.conn.Sync(dir)
	})
	select {
	case <-seen.sent:
	case <-synced.done:
	case <-ctx.Done():
	}
	listed := send(s, func() (*listing, error) { return s.list(dir) })
	if _, err := synced.wait(ctx); err != nil {
		return nil, err
	}
	return listed.wait(ctx)
}

// relist reads the queue for c, after its create was answered.
func (c *contender) relist(ctx context.Context) (*listing, error) {
	s := c.queue.session
	for try := 0; ; try++ {
		if err := c.whyGone(); err != nil {
			return nil, err
		}
		_, _, err := s.await(ctx, c.epoch.id)
		if err != nil {
			return nil, err
		}
		view, err := send(s, func() (*listing, error) { return s.list(c.queue.dir) }).wait(ctx)
		switch {
		case err == nil:
			return view, nil
		case ctx.Err() != nil || !transient(err):
			return nil, err
		}
		if err := sleep(ctx, pauseBefore(try)); err != nil {
			return nil, ended(ctx)
		}
	}
}

// place returns those who have to go before c may have the lock, the nearest
// last, and the list that says so: view, if that can be trusted, or a new one.
func (c *contender) place(ctx context.Context, view *listing) (*listing, []child, error) {
	for {
		if view == nil {
			var err error
			if view, err = c.relist(ctx); err != nil {
				return nil, nil, err
			}
		}
		ahead, err := view.ahead(c)
		if !errors.Is(err, errStale) {
			return view, ahead, err
		}
		view = nil
	}
}

// ahead returns those who have to go before c may have the lock, the nearest
// last. Its errors end the place in the queue, but for errStale, after which the
// queue has to be listed again.
func (v *listing) ahead(c *contender) ([]child, error) {
	if v.link.id != c.epoch.id {
		return nil, errStale
	}
	if c.beyondOrder() {
		return nil, errUnordered
	}
	var ahead []child
	listed := false
	for _, other := range v.children {
		switch {
		case other.name == base(c.node):
			listed = true
		case !other.blocks(c.queue.kind):
		case other.sequence == c.sequence:
			return nil, errUnordered
		case other.sequence < c.sequence:
			ahead = append(ahead, other)
		}
	}
	switch {
	case listed:
		return ahead, nil
	case v.early:
		return nil, errStale
	}
	return nil, errNodeDeleted
}

// blocks tells whether anybody is in the way of a newcomer of kind k.
func (v *listing) blocks(k kind) bool {
	return slices.ContainsFunc(v.children, func(c child) bool { return c.blocks(k) })
}
