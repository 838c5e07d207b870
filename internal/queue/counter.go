package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// A path whose sequence counter is at its end has to be made anew, which takes that nobody is
// there. So contenders whose number does not count stay until all others have gone, who are to
// see that somebody waits, and then stay away until the path is another one, with all who ask for
// it later in their session.

// spend notes that the counter was at its end when c's node was made.
func (q *Queue) spend(c *contender) {
	s := q.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent[q.dir] == 0 {
		s.client.Log.Warn("zklock: the sequence counter is at its end, starting it afresh", "path", q.dir)
	}
	s.spent[q.dir] = max(s.spent[q.dir], c.token)
}

// spentAt returns the czxid of the last node that was made while the counter was at its end, if
// that is known to be so.
func (q *Queue) spentAt() (czxid int64, known bool) {
	q.session.mu.Lock()
	defer q.session.mu.Unlock()
	czxid, known = q.session.spent[q.dir]
	return czxid, known
}

// renewed notes that the path has been made anew since the node of that czxid was.
func (q *Queue) renewed(czxid int64) {
	q.session.mu.Lock()
	defer q.session.mu.Unlock()
	if q.session.spent[q.dir] == czxid {
		delete(q.session.spent, q.dir)
	}
}

// outwait returns ErrUnordered when nobody is in the queue any more whose number counts. One
// with a negative number leaves at once: it is ahead of them.
func (c *contender) outwait(ctx context.Context) error {
	if c.sequence < 0 {
		return recipe.ErrUnordered
	}
	client.Queues(ctx, true)
	defer client.Queues(ctx, false)
	for try := 1; ; try++ {
		view, err := c.readBy(ctx, c.list)
		if err != nil {
			return err
		}
		bystanders, err := c.queue.look(ctx, foreign(view.Nodes()))
		if err == nil && !anyCounts(c.queue.withoutBystanders(view.Nodes(), bystanders)) {
			return recipe.ErrUnordered
		}
		if err == nil {
			err = c.queue.confirmShown(ctx, view.Names)
		}
		if err != nil && !errors.Is(err, client.ErrStale) && !client.IsStale(err) {
			return err
		}
		c.waited = true
		if err := c.queue.session.client.Sleep(ctx, backoff.Before(try)); err != nil {
			return err
		}
	}
}

// anyCounts reports whether one of the lock nodes has a number that counts.
func anyCounts(nodes []recipe.Node) bool {
	return slices.ContainsFunc(nodes, func(n recipe.Node) bool { return !n.Unordered() })
}

// confirmShown has the leader asked for nodes that keep away who waits without a watch on them. It returns
// a wire.Stale if a server alone has shown one.
func (q *Queue) confirmShown(ctx context.Context, names []string) error {
	c := q.session.client
	if !c.DueToConfirm(q.dir) {
		return nil
	}
	nodes := make([]string, len(names))
	for i, name := range names {
		nodes[i] = recipe.Join(q.dir, name)
	}
	return c.ConfirmUnder(ctx, func() error { return c.ConfirmAll(nodes) })
}

// reaped is by when a server has removed a container that is empty: it looks once a minute.
const reaped = 2 * time.Minute

// awaitRenewal returns when a path whose counter is at its end has been made anew. Its error says
// why that will never be, or that ctx has ended. What this session may not do, one with more
// rights may, or the server.
func (q *Queue) awaitRenewal(ctx context.Context) error {
	begun := time.Now()
	return q.session.client.Retry(ctx, func() error {
		err := q.renew(ctx)
		if client.Answers(err, zk.ErrNoAuth) && time.Since(begun) < reaped {
			return fmt.Errorf("not yet: %v", err) // no refusal, so that it is tried again
		}
		return err
	})
}

// renew makes a path anew whose counter is at its end, unless somebody else has. It returns
// ErrLocked if some are there whose numbers count, and errLeftBehind while others leave.
func (q *Queue) renew(ctx context.Context) error {
	spent, known := q.spentAt()
	if !known {
		return nil
	}
	c := q.session.client
	client.WaitsFor(ctx, "nobody to be in the queue, whose sequence counter is at its end")
	if _, err := c.Await(ctx, client.AnySession); err != nil {
		return err
	}
	view, err := c.JoinList(q.dir).Wait(ctx)
	switch {
	case err != nil:
		return err
	case view.Missing, view.Stat.Czxid > spent:
		q.renewed(spent)
		return nil
	case len(view.Names) == 0:
		err = client.Wait(ctx, c.Background(q.remake))
	default:
		if err = q.onlyContenders(ctx, view); err == nil {
			err = q.confirmShown(ctx, view.Names)
		}
	}
	switch {
	case err != nil && !client.Transient(err) && !client.LooksEnded(err):
		return fmt.Errorf("%w, and starts afresh with the path only: %w", recipe.ErrUnordered, err)
	case err != nil || len(view.Names) == 0:
		return err
	case anyCounts(view.Nodes()):
		return ErrLocked
	}
	return errLeftBehind
}

const errForeign = client.Final("which is no lock node")

// onlyContenders returns an error if one of the path's children is no lock node: contenders
// leave in time.
func (q *Queue) onlyContenders(ctx context.Context, view *client.List) error {
	bystanders, err := q.look(ctx, foreign(view.Nodes()))
	if err != nil {
		return err
	}
	for _, name := range view.Names {
		if _, contends := recipe.Parse(name); !contends || bystanders[name] {
			return fmt.Errorf("%s has the child %q, %w: %w", q.dir, name, errForeign, zk.ErrNotEmpty)
		}
	}
	return nil
}

// remake deletes the path and makes it again in one transaction, with what it says and its ACL.
// A container is none afterwards: the server does not tell which it was.
func (q *Queue) remake() error {
	c := q.session.client
	rights, said := wire.NewRequest(wire.Op{Code: wire.OpGetACL, Path: q.dir}), client.Read(q.dir)
	c.Send(rights, said)
	if err := client.Wait(c.Context(), said); err != nil {
		return err
	}
	acl, err := rights.ACL()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(acl, masked) {
		return fmt.Errorf("the ACL of %s hides a digest from this session, which has no ADMIN there: %w", q.dir, zk.ErrNoAuth)
	}
	content, err := client.ContentOf(said)
	if err != nil {
		return err
	}
	err = c.Transact(c.Context(),
		wire.Op{Code: wire.OpDelete, Path: q.dir, Version: content.Stat.Version},
		wire.Op{Code: wire.OpCreate, Path: q.dir, Data: content.Data, ACL: acl})
	if client.Answers(err, zk.ErrNoAuth) {
		return fmt.Errorf("the ACL of %s does not let this session delete %s and make it again: %w", recipe.Parent(q.dir), q.dir, err)
	}
	return err
}

// masked reports whether the server has shown an id without its secret: see ZOOKEEPER-1392.
func masked(a zk.ACL) bool { return a.Scheme == "digest" && strings.HasSuffix(a.ID, ":x") }
