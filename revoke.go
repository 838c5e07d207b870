package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Revoke asks for a lock back: all who hold the one on path, or the owner of one node, if path is
// that of a node as [Inspect] or [Hold.Node] tell it. It writes Curator's mark on the nodes, and
// returns when that is written. The owners decide whether and when they give the lock back. What a
// node of this library says of its owner stays if this session may read it; on any other node the
// mark replaces it. If the answer to a mark is lost, and its owner heeds it before the next try, the
// next holder is asked too.
//
// Who holds the lock on path is looked up as by Inspect, so that a server that lags behind may not know
// of somebody yet. Where it has just gone on within a session, its last owner's node may still be there,
// and take the mark with it: ask again if the lock does not come.
//
// A node that is Foreign or Persistent (see [Contender]) is not written on: nobody would heed it. The
// error says so.
//
// The error is zk.ErrNoNode for a node that is gone, and for a lock that nobody holds, or nobody
// for long enough to be asked. Of several holders all are asked that this session may ask; the
// error names the others. The path of a lock is below the session's chroot (see [Connect]), that
// of a node is whole. If a lock has a name like a node's, what is there decides.
func Revoke(ctx context.Context, s *Session, path string) error {
	lock, err := s.whole("revoke", path)
	if err != nil {
		return err
	}
	name := recipe.Base(path)
	_, contends := recipe.Parse(name)
	switch {
	case client.HasEnded(ctx):
		return wrap("revoke", path, client.Ended(ctx))
	case !contends && !recipe.IsPermit(name):
		return wrap("revoke", lock, s.revokeHolders(ctx, lock))
	}
	// A node is told whole, whoever tells of it. Without one, a lock may be called as nodes are.
	err = s.revoke(ctx, path)
	if err != zk.ErrNoNode && err != errPersistent {
		return wrap("revoke", path, err)
	}
	if held := s.revokeHolders(ctx, lock); !client.Answers(held, zk.ErrNoNode) {
		return wrap("revoke", lock, held)
	}
	if err == errPersistent {
		err = fmt.Errorf("%w: %w", err, zk.ErrNoNode)
	}
	return wrap("revoke", path, err)
}

// revokeHolders asks all who hold the lock on path, which is whole. Who has given it back
// meanwhile need not be asked; if that are all, others may have it by now.
func (s *Session) revokeHolders(ctx context.Context, path string) error {
	for looks := 1; ; looks++ {
		found, err := s.look(ctx, path)
		if err != nil {
			return err
		}
		held, asked, err := s.askHolders(ctx, found)
		if err != nil {
			return err
		}
		switch {
		case asked > 0:
			return s.askDowngraded(ctx, path, found)
		case held == 0:
			return fmt.Errorf("nobody holds it: %w", zk.ErrNoNode)
		case looks == mostLooks:
			return fmt.Errorf("nobody holds it for long enough to be asked: %w", zk.ErrNoNode)
		}
	}
}

// askDowngraded asks those who read on where a writer of found was asked: it may have gone over to
// reading just before the mark was written, and a look that comes after that shows the reader.
func (s *Session) askDowngraded(ctx context.Context, path string, found []Contender) error {
	var written []int32
	for _, c := range found {
		if c.Held && c.writes() {
			written = append(written, c.sequence())
		}
	}
	if len(written) == 0 {
		return nil
	}
	now, err := s.look(ctx, path)
	if err != nil {
		return err
	}
	_, _, err = s.askHolders(ctx, slices.DeleteFunc(now, func(c Contender) bool {
		return c.Kind != Read || !slices.Contains(written, c.sequence())
	}))
	return err
}

func (c Contender) sequence() int32 {
	parsed, _ := recipe.Parse(recipe.Base(c.Node))
	return parsed.Sequence
}

// askHolders writes the mark on the nodes of those found that hold the lock, and counts them and
// those that were still there.
func (s *Session) askHolders(ctx context.Context, found []Contender) (held, asked int, err error) {
	var refused []error // which is no matter of the other holders
	for _, c := range found {
		if !c.Held {
			continue
		}
		held++
		err := errPersistent
		if !c.Persistent {
			err = s.revoke(ctx, c.Node)
		}
		switch {
		case err == nil:
			asked++
		case client.Answers(err, zk.ErrNoNode):
		case client.Refused(err), err == errForeign, err == errPersistent:
			refused = append(refused, fmt.Errorf("%s: %w", c.Node, err))
		default:
			return held, asked, fmt.Errorf("%s: %w", c.Node, err)
		}
	}
	return held, asked, errors.Join(refused...)
}

// revoke writes the mark on a node.
func (s *Session) revoke(ctx context.Context, node string) error {
	gone := false
	err := s.client.Persist(ctx, func() error {
		if err := s.client.MakeRoom(ctx); err != nil {
			return err
		}
		err := s.write(ctx, node)
		if err == errForeign || err == errPersistent {
			return client.Permanent(err)
		}
		if gone = client.Answers(err, zk.ErrNoNode); gone {
			return nil
		}
		return err
	})
	if gone {
		return zk.ErrNoNode
	}
	return s.client.Explain(err)
}

// Whose nodes are not written on.
var (
	errForeign    = errors.New("its name is of no form that this library knows, and no such request is heeded by others: zklock break deletes it")
	errPersistent = errors.New("it is persistent, and goes with no session, so that nobody heeds a request: zklock break deletes it")
)

// write writes the mark, and again if the node's owner has written there meanwhile.
func (s *Session) write(ctx context.Context, node string) error {
	for {
		mark, version, err := s.mark(ctx, node)
		if err != nil {
			return err
		}
		set := wire.NewRequest(wire.Op{Code: wire.OpSetData, Path: node, Data: mark, Version: version})
		err = s.client.Ask(ctx, set)
		if !client.Answers(err, zk.ErrBadVersion) {
			return client.OverQuota(err, node, "the mark")
		}
	}
}

// mark returns what asks for the lock of a node, and what version of that it is for, -1 for any: with
// what it says already, if its owner heeds that and it may be read.
func (s *Session) mark(ctx context.Context, node string) (mark []byte, version int32, err error) {
	read := client.Read(node)
	s.client.Send(read)
	said, err := s.content(ctx, node, read)
	named, contends := recipe.Parse(recipe.Base(node))
	switch {
	case err != nil:
		s.client.Leave(read)
		return nil, 0, err
	case said.Stat != nil && !client.IsEphemeral(said.Stat):
		return nil, 0, errPersistent
	case contends && named.Foreign:
		return nil, 0, errForeign
	case !recipe.Ours(recipe.Base(node)), said.Stat == nil:
		return recipe.Revoked(nil), -1, nil
	}
	rest, _ := recipe.Revocation(said.Data) // which fits with the mark, since it fitted with an ACL
	return recipe.Revoked(rest), said.Stat.Version, nil
}

// Revoked returns a channel that is closed when another client has asked for the lock back,
// with [Revoke] or Curator's Revoker, also if that was before the hold began; of permits, only if
// it did not come as they were taken. [WithMaxHold] closes it, too. The holder decides whether and when to
// release it.
func (h *Hold) Revoked() <-chan struct{} { return h.must("revoked").Revoked() }
