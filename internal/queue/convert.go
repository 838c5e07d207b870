package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
)

// convert makes the hold by which the owner of before goes on: from writing to reading, or from
// its turn to permits. The entry's create has the check, that of before's node. Who has asked the
// owner for what it had has asked for this too: the check fails if that may be unheard of.
func (q *Queue) convert(ctx context.Context, before *Hold, enter func(id string, check *zk.CheckVersionRequest) entry) (*Hold, error) {
	c := before.contender
	for {
		check := c.checkUnasked()
		h, err := q.createGranted(ctx, c.incarnation, func(id string) entry { return enter(id, check) })
		switch {
		case err == nil:
			h.heed(before)
			return h, nil
		case !client.Answers(err, zk.ErrBadVersion):
			return nil, err
		}
		if err := c.read(ctx); err != nil {
			return nil, err
		}
	}
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

// checkUnasked is a check that fails, unless it is known that somebody has asked for the lock,
// also if the node may say so by now.
func (c *contender) checkUnasked() *zk.CheckVersionRequest {
	check := c.check()
	c.queue.session.mu.Lock()
	defer c.queue.session.mu.Unlock()
	if !c.revoked {
		check.Version = c.version
	}
	return check
}

// read reads what c's node says.
func (c *contender) read(ctx context.Context) error {
	s := c.queue.session
	said := client.Send(s.client, func() (client.Content, error) {
		data, stat, err := s.client.Conn.Get(c.node)
		return client.Content{Data: data, Stat: stat}, err
	})
	content, err := said.Wait(ctx)
	if err != nil {
		said.Leave(s.client)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.version = content.Stat.Version
	c.onData(content.Data)
	return nil
}
