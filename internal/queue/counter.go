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
)

// A path whose sequence counter is at its end has to be made anew, which takes that nobody is
// there. So contenders whose number does not count stay until all others have gone, who are to
// see that somebody waits, and then stay away until the path is another one.

// outwait returns ErrUnordered when nobody is in the queue any more whose number counts. One
// with a negative number leaves at once: it is ahead of them.
func (c *contender) outwait(ctx context.Context) error {
	if c.sequence < 0 {
		return recipe.ErrUnordered
	}
	client.Queues(ctx, true)
	defer client.Queues(ctx, false)
	for try := 1; ; try++ {
		view, err := c.relist(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(view.Nodes(), func(n recipe.Node) bool { return !n.Unordered() }) {
			return recipe.ErrUnordered
		}
		c.behind = true
		if err := c.queue.session.client.Sleep(ctx, backoff.Before(try)); err != nil {
			return err
		}
	}
}

// reaped is by when a server has removed a container that is empty: it looks once a minute.
const reaped = 2 * time.Minute

// awaitRenewal returns when the path has been made anew since left's node was made there. Its
// error says why that will never be, or that ctx has ended. What this session may not do, one
// with more rights may, or the server.
func (q *Queue) awaitRenewal(ctx context.Context, left *deletion) error {
	c := q.session.client
	c.Log.Warn("zklock: the sequence counter is at its end, starting it afresh", "path", q.dir)
	for try, begun := 1, time.Now(); ; try++ {
		renewed, err := q.renew(ctx, left)
		mayBe := err == nil || client.Answers(err, zk.ErrNoAuth) && time.Since(begun) < reaped
		if renewed || !mayBe {
			return err
		}
		if err := c.Sleep(ctx, backoff.Before(try)); err != nil {
			return err
		}
	}
}

// renew makes the path anew if nobody is there, and reports whether that has been done since
// left's node was made.
func (q *Queue) renew(ctx context.Context, left *deletion) (renewed bool, err error) {
	c := q.session.client
	client.WaitsFor(ctx, "nobody to be in the queue, whose sequence counter is at its end")
	select {
	case <-left.done:
	case <-ctx.Done():
		return false, client.Ended(ctx)
	}
	if _, err := c.Await(ctx, client.AnySession); err != nil {
		return false, err
	}
	view, err := c.JoinList(q.dir).Wait(ctx)
	switch {
	case err != nil:
	case view.Missing, view.Czxid > left.contender.token:
		return true, nil
	case len(view.Names) == 0:
		_, err = client.Send(c, func() (struct{}, error) { return struct{}{}, q.remake() }).Wait(ctx)
	default:
		err = q.onlyContenders(view.Names)
	}
	if err == nil || client.LooksEnded(err) || errors.Is(err, client.ErrClosed) {
		return false, err
	}
	client.FailedTry(ctx, err)
	if client.Transient(err) {
		return false, nil
	}
	return false, fmt.Errorf("%w, and starts afresh with the path only: %w", recipe.ErrUnordered, err)
}

const errForeign = client.Final("which is no lock node")

// onlyContenders returns an error if one of the path's children is no lock node: contenders
// leave in time.
func (q *Queue) onlyContenders(names []string) error {
	for _, name := range names {
		if _, contends := recipe.Parse(name); !contends {
			return fmt.Errorf("%s has the child %q, %w: %w", q.dir, name, errForeign, zk.ErrNotEmpty)
		}
	}
	return nil
}

// remake deletes the path, and makes it anew if it has data, or an ACL, that it would not have
// from us: otherwise it may be a container, which whoever comes next makes.
func (q *Queue) remake() error {
	conn := q.session.client.Conn
	acl, _, err := conn.GetACL(q.dir)
	if err != nil {
		return err
	}
	data, stat, err := conn.Get(q.dir)
	if err != nil {
		return err
	}
	ops := []any{&zk.DeleteRequest{Path: q.dir, Version: stat.Version}}
	if len(data) > 0 || !slices.Equal(acl, q.options.ACL) {
		if slices.ContainsFunc(acl, masked) {
			return fmt.Errorf("the ACL of %s hides a digest from this session, which has no ADMIN there: %w", q.dir, zk.ErrNoAuth)
		}
		ops = append(ops, &zk.CreateRequest{Path: q.dir, Data: data, Acl: acl})
	}
	_, err = conn.Multi(ops...)
	if client.Answers(err, zk.ErrNoAuth) {
		return fmt.Errorf("the ACL of %s does not let this session delete %s and make it again: %w", recipe.Parent(q.dir), q.dir, err)
	}
	return err
}

// masked reports whether the server has shown an id without its secret: see ZOOKEEPER-1392.
func masked(a zk.ACL) bool { return a.Scheme == "digest" && strings.HasSuffix(a.ID, ":x") }
