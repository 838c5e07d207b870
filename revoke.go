package zklock

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/recipe"
)

// revokeMark is what Curator's Revoker writes on a node to ask for its lock back.
var revokeMark = []byte("__REVOKE__")

// Revoke asks the owner of a lock node, a full path as [Inspect] or [Hold.Node]
// tell it, to give the lock back: it replaces the node's data by Curator's mark.
// It returns when that is written: asking is not taking, the owner decides. A node
// that is gone is zk.ErrNoNode.
func Revoke(ctx context.Context, s *Session, node string) error {
	if s == nil {
		return wrap("revoke", node, errors.New("the session is nil: make one with Connect"))
	}
	if err := recipe.CheckPath(node); err != nil {
		return wrap("revoke", node, err)
	}
	name := recipe.Base(node)
	if _, ok := recipe.Parse(name); !ok && !recipe.IsPermit(name) {
		return wrap("revoke", node, fmt.Errorf("%q is not the name of a lock node", name))
	}
	if ctx.Err() != nil {
		return wrap("revoke", node, ended(ctx))
	}
	gone := false
	err := s.persist(ctx, func() error {
		if err := s.makeRoom(ctx); err != nil {
			return err
		}
		written := send(s, func() (*zk.Stat, error) { return s.conn.Set(node, revokeMark, -1) })
		_, err := written.wait(ctx)
		if gone = answers(err, zk.ErrNoNode); gone {
			return nil
		}
		if err != nil {
			written.leave(s)
		}
		return err
	})
	if gone {
		err = zk.ErrNoNode
	}
	return wrap("revoke", node, err)
}

// Revoked returns a channel that is closed when another client has asked for the
// lock back, with [Revoke] or Curator's Revoker, also if that was before the hold
// began. The holder decides whether and when to release it.
func (h *Hold) Revoked() <-chan struct{} {
	s := h.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Err() == nil {
		h.contender.guard()
	}
	return h.revoked.Done()
}

// heed takes the data of c's node, which may have the mark. The session's mu is
// held.
func (c *contender) heed(data []byte) {
	if c.revoked || !bytes.Equal(data, revokeMark) {
		return
	}
	c.revoked = true
	if c.hold != nil {
		c.hold.revoked.Close()
	}
	if c.cohort != nil && c.cohort.keeps(c) {
		c.leaveLocked()
	}
}
