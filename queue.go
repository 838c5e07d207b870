package zklock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/recipe"
)

// queue is the recipe: contenders line up as ephemeral sequential nodes below
// one path, the lowest sequence has the lock, and each other contender watches
// the nearest one that it has to wait for
// (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks).
type queue struct {
	session *Session
	path    string // of the lock
	dir     string // of the nodes: the lock's path, but for a semaphore
	kind    recipe.Kind
	data    []byte
	acl     []zk.ACL
	trace   *Trace  // nil without WithTrace
	cohort  *cohort // that stands in it; nil for most
}

// acquirer is where a call gets the lock from: the queue, or a cohort, which
// stands there for several owners.
type acquirer interface {
	acquire(context.Context, *attempt) (*Hold, error)
	try(context.Context, *attempt) (*Hold, error)
}

// errStale says that a list cannot be trusted with a decision: the
// connection changed while it was under way.
var errStale = errors.New("zklock: the connection changed")

func newQueue(s *Session, path string, k recipe.Kind, opts []Option) (*queue, *options, error) {
	if s == nil {
		return nil, nil, wrap("new", path, errors.New("the session is nil: make one with Connect"))
	}
	if err := recipe.CheckPath(path); err != nil {
		return nil, nil, wrap("new", path, err)
	}
	o, err := newOptions(path, opts)
	if err != nil {
		return nil, nil, wrap("new", path, err)
	}
	if s.ctx.Err() != nil {
		return nil, nil, wrap("new", path, ErrClosed)
	}
	return &queue{session: s, path: path, dir: path, kind: k, data: o.data, acl: o.acl, trace: o.trace}, o, nil
}

// handle takes the lock by get for whoever has the Hold.
func (q *queue) handle(ctx context.Context, op string, get func(context.Context, *attempt) (*Hold, error)) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, wrap(op, q.path, ended(ctx))
	}
	a := q.attempt(ctx)
	h, err := get(ctx, a)
	return h, wrap(op, q.path, a.failed(err))
}

// acquire enters the queue and waits for its head. A place that is lost while
// waiting is taken anew, at the tail. After an error no node is left, or it is
// being deleted in the background.
func (q *queue) acquire(ctx context.Context, a *attempt) (*Hold, error) {
	ctx, dog := q.session.startWatchdog(ctx, q.path)
	defer dog.end()
	for try := 0; ; try++ {
		h, left, err := q.stand(ctx, a, (*contender).wait)
		if err == nil {
			a.acquired(h)
			return h, nil
		}
		if left == nil {
			return nil, err
		}
		if err := q.again(ctx, try, err); err != nil {
			q.session.cleanUp(func() { <-left.done })
			return nil, err
		}
	}
}

// stand enters the queue and has wait make a hold of the place. A place that has not
// become one is left, however that ended: a function of the trace may panic.
func (q *queue) stand(
	ctx context.Context, a *attempt, wait func(*contender, context.Context, *listing) (*Hold, error),
) (h *Hold, left *removal, err error) {
	c, view, err := q.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if h == nil {
			left = c.leave()
		}
	}()
	a.enqueued(c, view)
	h, err = wait(c, ctx, view)
	return h, nil, err
}

// try takes the lock if nobody is in its way, and otherwise returns ErrLocked,
// without a write if it can.
func (q *queue) try(ctx context.Context, a *attempt) (*Hold, error) {
	ctx, dog := q.session.startWatchdog(ctx, q.path)
	defer dog.end()
	again := 0
	for try := 0; ; try++ {
		view, err := q.session.freshList(ctx, q.dir)
		if err == nil && recipe.AnyBlocks(view.names, q.kind) {
			if again++; again > mostTries || recipe.AnyBlocks(q.session.wanted(view.names), q.kind) {
				return nil, ErrLocked
			}
			err = errLeftBehind
		}
		if err == nil {
			var h *Hold
			if h, _, err = q.stand(ctx, a, (*contender).grantFirst); err == nil {
				a.acquired(h)
			}
			if err == nil || errors.Is(err, ErrLocked) {
				return h, err
			}
		}
		if err := q.again(ctx, try, err); err != nil {
			return nil, err
		}
	}
}

// grantFirst grants c the lock if nobody is ahead, from view on if that is not nil.
func (c *contender) grantFirst(ctx context.Context, view *listing) (*Hold, error) {
	for {
		at, err := c.place(ctx, view)
		if err != nil {
			return nil, err
		}
		if at.Ahead > 0 {
			return nil, ErrLocked
		}
		h, err := c.grant(ctx, at.link)
		if !errors.Is(err, errStale) {
			return h, err
		}
		view = nil
	}
}

// again waits before another try at the queue, or returns err if there is to be
// none.
func (q *queue) again(ctx context.Context, try int, err error) error {
	switch {
	case !transient(err):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w (after %v)", ended(ctx), err)
	}
	failedTry(ctx, err)
	pause := backoff.Before(try)
	if errors.Is(err, recipe.ErrUnordered) {
		q.session.log.Warn("zklock: the sequence counter is at its end, starting it afresh", "path", q.dir)
		if err := q.startAfresh(ctx); err != nil {
			return err
		}
		// Contenders that leave at the same time keep each other from resetting it.
		pause = rand.N(backoff.First << min(try, 5))
	}
	return q.session.sleep(ctx, pause)
}

// enter creates a contender, with the list that was read along, if any.
func (q *queue) enter(ctx context.Context) (c *contender, view *listing, err error) {
	s := q.session
	above := parents{session: s, dir: q.dir}
	defer func() {
		if c == nil {
			above.leave()
		}
	}()
	for try := 0; ; try++ {
		if ctx.Err() != nil {
			return nil, nil, ended(ctx)
		}
		ep, _, err := s.await(ctx, anySession)
		if err == nil {
			err = s.makeRoom(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
		c, view, err := q.create(ctx, ep, q.sequential)
		if answers(err, zk.ErrNoNode) {
			err = above.make(ctx, q.acl)
			if err == nil {
				continue
			}
		}
		if err == nil {
			return c, view, nil
		}
		if err := q.again(ctx, try, err); err != nil {
			return nil, nil, describe(q.dir, err)
		}
	}
}

// describe says what a refusal of the lock's create means.
func describe(dir string, err error) error {
	switch {
	case answers(err, zk.ErrNoChildrenForEphemerals):
		return fmt.Errorf("%s or a node above it is an ephemeral node, which cannot have the children that a lock needs: %w", dir, err)
	case answers(err, zk.ErrNoAuth):
		return fmt.Errorf("the ACL of %s, or of the node above it, does not let this session create a lock node there: %w", dir, err)
	case answers(err, zk.ErrInvalidACL):
		return fmt.Errorf("the server refuses the lock's ACL (scheme %q needs credentials on the session): %w", "auth", err)
	}
	return err
}
