package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// Revoke asks the owner of a lock node, a full path as [Inspect] or [Hold.Node] tell it, to
// give the lock back: it replaces the node's data by Curator's mark. It returns when that is
// written. The owner decides whether and when it gives the lock back. A node that is gone is
// zk.ErrNoNode.
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
		return wrap("revoke", node, client.Ended(ctx))
	}
	gone := false
	err := s.client.Persist(ctx, func() error {
		if err := s.client.MakeRoom(ctx); err != nil {
			return err
		}
		written := client.Send(s.client, func() (*zk.Stat, error) { return s.client.Conn.Set(node, []byte(recipe.RevokeMark), -1) })
		_, err := written.Wait(ctx)
		if gone = client.Answers(err, zk.ErrNoNode); gone {
			return nil
		}
		if err != nil {
			written.Leave(s.client)
		}
		return err
	})
	if gone {
		err = zk.ErrNoNode
	}
	return wrap("revoke", node, err)
}

// Revoked returns a channel that is closed when another client has asked for the lock back,
// with [Revoke] or Curator's Revoker, also if that was before the hold began. The holder
// decides whether and when to release it.
func (h *Hold) Revoked() <-chan struct{} { return h.hold.Revoked() }
