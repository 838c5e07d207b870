package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// Queue is where the contenders for one lock stand.
type Queue struct {
	session *Session
	options Options
	path    string // of the lock
	dir     string // of the nodes: the lock's path, but for a semaphore
	kind    recipe.Kind
	handoff *handoff     // that stands in it; nil for most
	looked  *atomic.Bool // for a semaphore or a lock where there should be none: see mixed

	readable *atomic.Pointer[string] // the maker whose node was read here: see mayRead
}

// Options are what the user of a queue wants of it.
type Options struct {
	Data []byte // of the nodes
	ACL  []zk.ACL
	Says []byte // what the path says, if it is made for a node
	// MinHold is how long a node stays after its grant at least, though its hold has ended.
	MinHold time.Duration
	// MaxHold is after how long a hold's owner is asked for it; 0: never.
	MaxHold time.Duration
	// LossGrace is how long a node stays after its hold was lost, though the session lives, unless
	// the hold's owner gives it back before.
	LossGrace time.Duration
	// OneSided accepts locks of other libraries in the queue that do not wait for this one.
	OneSided bool
	// NewHistory returns what is told of the hold of that node; nil if nothing is.
	NewHistory func(node string, token int64) History
}

// Source is where a call gets a lock from: a Queue, or what NewHandoff returns, which stands there
// for several owners. After an error no node is left, or it is being deleted in the background.
type Source interface {
	// Acquire waits for the lock.
	Acquire(context.Context, Call) (*Hold, error)
	// Try returns ErrLocked instead of waiting for another owner.
	Try(context.Context, Call) (*Hold, error)
}

// New returns the queue for a lock on path, of which no node is made yet.
func New(s *Session, path string, kind recipe.Kind, o Options) *Queue {
	return &Queue{session: s, options: o, path: path, dir: path, kind: kind, looked: new(atomic.Bool), readable: new(atomic.Pointer[string])}
}

// Of returns the queue of that kind for the same lock.
func (q *Queue) Of(kind recipe.Kind) *Queue {
	other := *q
	other.kind = kind
	return &other
}

// Client returns the client of the queue's session.
func (q *Queue) Client() *client.Client { return q.session.client }

// Admission ends when nobody gets a lock of the session any more.
func (q *Queue) Admission() context.Context { return q.session.admission }

// Path returns the lock's path.
func (q *Queue) Path() string { return q.path }

// Acquire enters the queue and waits for its head. A place that is lost while waiting is taken
// anew, at the tail. After an error no node is left, or it is being deleted in the background.
func (q *Queue) Acquire(ctx context.Context, call Call) (*Hold, error) {
	ctx, stalls := q.session.client.LogStalls(ctx, q.path)
	defer stalls.End()
	var h *Hold
	var left *deletion // of the last place
	err := q.session.client.Retry(ctx, func() (err error) {
		h, left, err = q.stand(ctx, call, (*contender).wait)
		return err
	})
	switch {
	case err == nil:
		acquired(call, h)
	case left != nil:
		left.countLeft()
	}
	return h, err
}

// waiter makes a hold of a place in the queue, whose list is view, nil if there is none yet. Every place is
// handed to one, so a rule on who may wait is one around another.
type waiter func(c *contender, ctx context.Context, view *listing) (*Hold, error)

// stand enters the queue, or takes a place there that its handoff has, and has wait make a hold
// of the place. One that has not become a hold is left, however that ended, unless the handoff
// keeps it: a function of the trace may panic.
func (q *Queue) stand(ctx context.Context, call Call, wait waiter) (h *Hold, left *deletion, err error) {
	c := q.handoff.takePlace()
	var view *listing
	if c == nil {
		if err = q.awaitRenewal(ctx); err == nil {
			c, view, err = q.enter(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	defer func() {
		if client.Answers(err, recipe.ErrUnordered) {
			q.spend(c)
		}
		if h == nil && !q.handoff.keepPlace(c, err) {
			left = c.leaveUnused()
		}
	}()
	q.handoff.arrived(c)
	enqueued(call, c, view)
	h, err = wait(c, ctx, view)
	return h, nil, err
}

// Try takes the lock if nobody is in its way, and otherwise returns ErrLocked, without a write
// if it can.
func (q *Queue) Try(ctx context.Context, call Call) (*Hold, error) {
	ctx, stalls := q.session.client.LogStalls(ctx, q.path)
	defer stalls.End()
	var h *Hold
	again := 0
	err := q.session.client.Retry(ctx, func() error {
		err := q.inTheWay(ctx)
		if err == nil {
			h, _, err = q.stand(ctx, call, (*contender).grantFirst)
		}
		if errors.Is(err, errLeftBehind) {
			if again++; again > mostTries {
				err = ErrLocked
			}
		}
		if errors.Is(err, ErrLocked) {
			return client.Permanent(err)
		}
		return err
	})
	if err == nil {
		acquired(call, h)
	}
	return h, err
}

// inTheWay returns ErrLocked if somebody is in a newcomer's way, and errLeftBehind if there are only
// nodes that calls of this session have left.
func (q *Queue) inTheWay(ctx context.Context) error {
	if _, err := q.session.await(ctx); err != nil {
		return err
	}
	view, err := q.session.client.FreshList(ctx, q.dir)
	if err != nil {
		return err
	}
	wanted := q.session.wanted(view.Names)
	switch {
	case recipe.AnyBlocks(wanted, q.kind):
		return q.confirmTaken(ctx, wanted)
	case recipe.AnyBlocks(view.Names, q.kind):
		return errLeftBehind
	}
	return q.renew(ctx)
}

// confirmTaken returns ErrLocked, or a wire.Stale if the first in a newcomer's way is there at this server
// alone: a try waits for no recheck. The leader is not asked each time, nor for a node that is new.
func (q *Queue) confirmTaken(ctx context.Context, names []string) error {
	c := q.session.client
	line := recipe.Queue(names)
	first := line[slices.IndexFunc(line, func(n recipe.Waiting) bool { return n.BlocksNewcomer(q.kind) })].Name
	if _, ours := q.session.ids.of(first); ours || !c.DueToConfirm(q.dir) {
		return ErrLocked
	}
	node := recipe.Join(q.dir, first)
	return cmp.Or(c.ConfirmUnder(ctx, func() error { return c.ConfirmOld(node) }), ErrLocked)
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
		if !errors.Is(err, client.ErrStale) {
			return h, err
		}
		view = nil
	}
}

// enter creates a contender, with the list that was read along, if any.
func (q *Queue) enter(ctx context.Context) (c *contender, view *listing, err error) {
	above := q.parents()
	err = q.session.client.Retry(ctx, func() (err error) {
		c, view, err = q.enterOnce(ctx, above)
		return err
	})
	return c, view, err
}

// enterOnce is one try to create a contender. It goes on at once when it finds that more of the
// path is missing.
func (q *Queue) enterOnce(ctx context.Context, above *client.Parents) (*contender, *listing, error) {
	if ctx.Err() != nil {
		return nil, nil, client.Ended(ctx)
	}
	inc, err := q.session.await(ctx)
	if err == nil {
		err = q.session.client.MakeRoom(ctx)
	}
	if err == nil {
		err = above.Confirm(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	for {
		c, view, err := q.create(ctx, inc, entry{nodes: 1, above: *above})
		if !above.Learn(err) {
			return c, view, err
		}
	}
}
