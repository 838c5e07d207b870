package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/wire"
)

// Downgrade takes the lock for reading while it is held for writing by w, whose release then
// lets in other readers, and no writer. As with Curator the read node has the sequence of the writer's.
func (q *Queue) Downgrade(ctx context.Context, w *Hold, call Call) (*Hold, error) {
	ctx, dog := q.session.client.LogStalls(ctx, q.path)
	defer dog.End()
	var h *Hold
	err := q.session.client.Retry(ctx, func() (err error) {
		if err := w.Err(); err != nil {
			return client.Permanent(err)
		}
		if err := q.session.client.MakeRoom(ctx); err != nil {
			return err
		}
		h, err = q.convert(ctx, w, entry{nodes: 1, above: *q.parents(), beside: w.contender})
		return err // after zk.ErrNoNode the writer's loss is about to be known
	})
	if err == nil {
		acquired(call, h)
	}
	return h, err
}

// convert makes the hold by which the owner of before goes on: from writing to reading, or from
// its turn to permits. The entry's create checks before's node. Who has asked the owner for what
// it had has asked for the new hold too. So the first check fails if somebody has written on the
// node, which may be such a request. Others may write there all the time: so the second only
// checks that the node is there, and what it says is read behind that create.
func (q *Queue) convert(ctx context.Context, before *Hold, e entry) (*Hold, error) {
	c := before.contender
	e.check = c.checkUnasked()
	h, err := q.createGranted(ctx, before, e, nil)
	if client.Answers(err, zk.ErrBadVersion) {
		e.check = client.Check(c.node)
		h, err = q.createGranted(ctx, before, e, c.read)
	}
	return h, err
}

// createGranted makes a hold at once of an entry that takes no place in the queue, when listen,
// unless that is nil, has returned.
func (q *Queue) createGranted(ctx context.Context, before *Hold, e entry, listen func(context.Context) error) (h *Hold, err error) {
	c, _, err := q.create(ctx, before.contender.incarnation, e)
	if err != nil {
		return nil, err
	}
	defer func() {
		if h == nil {
			c.leaveUnused()
		}
	}()
	if listen != nil {
		if err := listen(ctx); err != nil {
			return nil, err
		}
	}
	if h, err = c.grant(ctx, c.carrier); err == nil {
		h.heed(before)
	}
	return h, err
}

// heed takes over that somebody has asked for what its owner had before: its turn, or the lock
// for writing.
func (h *Hold) heed(before *Hold) {
	s := before.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if before.contender.revoked {
		h.contender.revoke()
	}
}

// checkUnasked is a check that also fails if anything was written on the node, which may be a
// request for the lock; but not if such a request is known already.
func (c *contender) checkUnasked() wire.Op {
	check := client.Check(c.node)
	c.queue.session.mu.Lock()
	defer c.queue.session.mu.Unlock()
	if !c.revoked {
		check.Version = 0
	}
	return check
}

func (c *contender) read(ctx context.Context) error {
	s := c.queue.session
	said := client.Read(c.node)
	if err := s.client.Ask(ctx, said); err != nil {
		return err
	}
	content, err := client.ContentOf(said)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.onContent(content)
	return nil
}
