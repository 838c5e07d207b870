package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// listing is the queue as one list of the path's children showed it.
type listing struct {
	link  *wire.Link // that carried it
	names []string
	// early says that the list was sent before our create was answered: that
	// our node is missing proves nothing then.
	early bool
}

// catchUp returns the connection when it can be read by to decide something: what it
// shows from then on is as new as all that this session has been told before. A
// connection may have been made to a server that lags: go-zookeeper keeps it from going
// back behind the last reply, but not behind the last event. Once a write that a
// majority has committed was answered there, the server has applied what was committed
// before. The first create or proof on a connection is such a write; if there is none
// yet, one is made that changes nothing. It blocks while go-zookeeper does: see send.
func (s *Session) catchUp(path string) (*wire.Link, error) {
	l := s.current()
	if l == nil {
		return nil, errStale
	}
	if l.CaughtUp() {
		return l, nil
	}
	l.CatchingUp <- struct{}{}
	defer func() { <-l.CatchingUp }()
	if s.current() != l {
		return nil, errStale
	}
	var err error
	if !l.CaughtUp() {
		_, err = s.conn.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
	}
	switch {
	case l.CaughtUp(): // also by a check that failed
		return l, nil
	case err == nil, errors.Is(err, zk.ErrNoNode):
		err = errStale // another connection has carried it
	}
	return nil, err
}

// list reads the queue as new as it has to be: see catchUp.
func (s *Session) list(dir string) (*listing, error) {
	l, err := s.catchUp(dir)
	if err != nil {
		return nil, err
	}
	return s.listBy(l, dir)
}

// listBy reads the queue over l, behind whatever has gone out there, and blocks while
// go-zookeeper does: see send.
func (s *Session) listBy(l *wire.Link, dir string) (*listing, error) {
	names, _, err := s.conn.Children(dir)
	if errors.Is(err, zk.ErrNoAuth) {
		return nil, fmt.Errorf("the ACL of %s does not let this session list its children: %w", dir, err)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	if l == nil || s.current() != l {
		return nil, errStale
	}
	s.sweep(l, dir, names)
	return &listing{link: l, names: names}, nil
}

// freshList reads the queue as it was at some instant of this call: the sync
// that goes ahead of it, over the same connection, makes the server catch up first. A
// leader that was deposed and does not know it yet answers that alone: the list may
// refuse a try for it, and never grants one.
func (s *Session) freshList(ctx context.Context, dir string) (*listing, error) {
	_, l, err := s.await(ctx, anySession)
	if err != nil {
		return nil, err
	}
	if err := s.makeRoom(ctx); err != nil {
		return nil, err
	}
	waitsFor(ctx, "a list of the queue")
	done := ctx.Done()
	listed := later(func() (*listing, error) { return s.listBy(l, dir) })
	seen := s.dialer.Taps.Add(wire.Request{Op: wire.OpSync, Path: dir}, func() { listed.send(s) })
	synced := sendUnder(done, s, func() (string, error) {
		defer s.dialer.Taps.Drop(seen)
		return s.conn.Sync(dir)
	})
	if _, err := synced.wait(ctx); err != nil {
		synced.leave(s)
		return nil, err
	}
	listed.send(s) // if our sync was taken for another caller's
	return listed.wait(ctx)
}

// lists are the reads of one queue that several contenders share: one is under way
// at a time, and who comes meanwhile shares the next, since the first may show the
// queue as it was before.
type lists struct{ underWay, next *pending[*listing] }

// joinList reads the queue as it is at some instant from now on.
func (s *Session) joinList(dir string) *pending[*listing] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		refused := s.newList(dir)
		refused.sendLocked(s)
		return refused
	}
	reads := s.lists[dir]
	if reads == nil {
		reads = &lists{underWay: s.newList(dir)}
		s.lists[dir] = reads
		reads.underWay.sendLocked(s)
		return reads.underWay
	}
	if reads.next == nil {
		reads.next = s.newList(dir)
	}
	return reads.next
}

func (s *Session) newList(dir string) *pending[*listing] {
	return later(func() (*listing, error) {
		defer s.listed(dir)
		return s.list(dir)
	})
}

// listed begins the list that was asked for while one was under way.
func (s *Session) listed(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reads := s.lists[dir]
	if reads.next == nil {
		delete(s.lists, dir)
		return
	}
	reads.underWay, reads.next = reads.next, nil
	reads.underWay.sendLocked(s)
}

// relist reads the queue for c, after its create was answered.
func (c *contender) relist(ctx context.Context) (*listing, error) {
	s := c.queue.session
	waitsFor(ctx, "a list of the queue")
	for try := 0; ; try++ {
		if err := c.whyGone(); err != nil {
			return nil, err
		}
		_, _, err := s.await(ctx, c.epoch.id)
		if err != nil {
			return nil, err
		}
		view, err := s.joinList(c.queue.dir).wait(ctx)
		switch {
		case err == nil:
			return view, nil
		case ctx.Err() != nil || !transient(err):
			return nil, err
		}
		failedTry(ctx, err)
		if err := s.sleep(ctx, backoff.Before(try)); err != nil {
			return nil, err
		}
	}
}

// place is where c stands in the queue, and all that it keeps of a list.
type place struct {
	recipe.Position
	link *wire.Link // that carried the list
}

// place returns where c stands, by view if that can be trusted, or by a new list.
func (c *contender) place(ctx context.Context, view *listing) (place, error) {
	for {
		if view == nil {
			var err error
			if view, err = c.relist(ctx); err != nil {
				return place{}, err
			}
		}
		p, err := view.placeOf(c)
		c.alone = err == nil && !othersAmong(view.names, recipe.Base(c.node))
		if !errors.Is(err, errStale) {
			return p, err
		}
		view = nil
	}
}

// placeOf returns where c stands. Its errors end the place in the queue, but for
// errStale, after which the queue has to be listed again.
func (v *listing) placeOf(c *contender) (place, error) {
	p := place{link: v.link}
	if v.link.ID != c.epoch.id {
		return p, errStale
	}
	var err error
	p.Position, err = recipe.Locate(v.names, c.listed())
	switch {
	case !errors.Is(err, recipe.ErrMissing):
		return p, err
	case v.early:
		return p, errStale
	}
	return p, errNodeDeleted
}

// listed returns c's node as a list shows it.
func (c *contender) listed() recipe.Node {
	return recipe.Node{Name: recipe.Base(c.node), Kind: c.queue.kind, Sequence: c.sequence}
}
