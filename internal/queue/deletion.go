package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// deletion is the delete of a contender's nodes, which goes on until they are gone or their
// session is.
type deletion struct {
	contender *contender

	batch *batch        // that the delete is in, once it may not wait any more
	done  chan struct{} // closed when the nodes are gone, or cannot be deleted for now
	err   error         // why it cannot be, once done
}

// batch is deletions that are carried out together.
type batch struct {
	requests [][]*deletion // as a server takes them
	link     *wire.Link    // to which the first is written; nil while disconnected
	before   *batch        // taken before this one, until that is known to be written
	sent     latch.Latch   // given when the last request has been written, or is over
}

// deleteLater deletes c's nodes in the background. Those of a contender that has handed the
// lock on may wait for others, since nobody else is next, and those of one that never had it:
// a thousand calls may end at once with the context they share. The session's mu is held.
func (s *Session) deleteLater(c *contender) *deletion {
	r := &deletion{contender: c, done: make(chan struct{})}
	if s.isOver(c) {
		delete(s.live, c.id) // the node goes with its session
		close(r.done)
		return r
	}
	s.deletions = append(s.deletions, r)
	if c.holder() != nil || c.hold == nil {
		if !s.deleting {
			s.deleting = s.client.Spawn(s.deleteWaiting)
		}
		return r
	}
	// The delete of a lock that is free now must not wait, and those before it in the queue
	// must not stay behind it.
	r.batch = s.takeDeletions()
	s.client.Spawn(func() { s.carryOut(r.batch) })
	return r
}

// isOver reports whether the session that c's nodes go with has ended, or is closed. s.mu is held.
func (s *Session) isOver(c *contender) bool { return s.closed || c.incarnation.id != s.id }

// takeDeletions returns the deletions that wait. s.mu is held.
func (s *Session) takeDeletions() *batch {
	b := &batch{requests: client.Batches(s.deletions, (*deletion).size), link: s.link, before: s.taken}
	s.deletions, s.taken = nil, b
	return b
}

// size returns how long the paths of the deletion's nodes are.
func (r *deletion) size() (size int) {
	for _, node := range r.contender.nodes {
		size += len(node)
	}
	return size
}

// deleteWaiting carries out what waits, and what comes meanwhile, batch by batch.
func (s *Session) deleteWaiting() {
	for {
		s.mu.Lock()
		s.deleting = len(s.deletions) > 0
		if !s.deleting {
			s.mu.Unlock()
			return
		}
		b := s.takeDeletions()
		s.mu.Unlock()
		s.carryOut(b)
	}
}

// carryOut deletes a batch's nodes. Its requests go out behind those of the batch before, which
// may check a node that this one deletes, and may have what is ahead in the queue.
func (s *Session) carryOut(b *batch) {
	if before := b.before; before != nil && before.link != nil {
		select {
		case <-before.sent.Done():
		case <-before.link.Down():
		}
	}
	b.before = nil
	last := b.requests[len(b.requests)-1]
	seen := s.client.Tap(wire.Request{Op: wire.OpDelete, Path: last[0].contender.node}, b.sent.Close)
	s.finish(b.requests)
	s.client.Drop(seen)
	b.sent.Close()
}

// finish carries out deletions of one session, request by request.
func (s *Session) finish(requests [][]*deletion) {
	for _, some := range requests {
		err := s.deleteNodes(some)
		if err != nil && len(some) > 1 { // a refusal is no matter of the others, nor are thousands of them
			var alone errgroup.Group
			alone.SetLimit(client.MostAsking)
			for i := range some {
				alone.Go(func() error { s.finish([][]*deletion{some[i : i+1]}); return nil })
			}
			_ = alone.Wait()
			continue
		}
		if err != nil {
			s.client.Log.Error("zklock: lock nodes cannot be deleted", "nodes", some[0].contender.nodes, "session", client.Hex(some[0].contender.incarnation.id), "error", err)
			s.client.Spawn(func() { s.deleteYet(some[0]) })
		}
		for _, r := range some {
			if err == nil {
				s.forget(r.contender)
			}
			r.err = err
			close(r.done)
		}
	}
}

// deleteYet goes on with a deletion that was refused: an operator may change the ACL.
func (s *Session) deleteYet(r *deletion) {
	s.client.Persevere(func() bool { return s.deleteNodes([]*deletion{r}) == nil })
	if !s.client.Closed() { // which may not be confirmed yet
		s.client.Log.Info("zklock: lock nodes are gone that could not be deleted", "nodes", r.contender.nodes, "session", client.Hex(r.contender.incarnation.id))
	}
	s.forget(r.contender)
}

func nodesOf(batch []*deletion) (nodes []string) {
	for _, r := range batch {
		nodes = append(nodes, r.contender.nodes...)
	}
	return nodes
}

// deleteNodes tries until the nodes of a batch are known to be gone. It deletes exactly those:
// their names will not come again.
func (s *Session) deleteNodes(batch []*deletion) error {
	last := batch[len(batch)-1].contender
	err := s.client.Retry(s.client.Context(), func() error {
		if _, err := s.client.Await(s.client.Context(), last.incarnation.id); err != nil {
			return nil // expired, or closed: the server deletes them
		}
		if err := s.deleteTogether(batch); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return nil
	})
	switch {
	case errors.Is(err, client.ErrClosed):
		return nil
	case errors.Is(err, zk.ErrNoAuth):
		err = fmt.Errorf("the ACL of %s does not let this session delete %s, which blocks the others until the session ends: %w",
			last.queue.dir, strings.Join(nodesOf(batch), ", "), err)
	}
	return err
}

// deleteTogether deletes the nodes of a batch in one transaction, while those who have the
// locks that went on from there have their nodes. One whose node somebody else has deleted,
// unseen since it was not watched yet, loses its hold before the node goes that kept others
// from the lock.
func (s *Session) deleteTogether(batch []*deletion) error {
	for nodes := nodesOf(batch); ; {
		holders := s.holders(batch)
		switch {
		case len(nodes)+len(holders) == 0:
			return nil
		case len(nodes) == 1 && len(holders) == 0:
			return s.client.Conn.Delete(nodes[0], -1)
		}
		responses, err := s.client.Conn.Multi(append(deletes(nodes), checks(holders)...)...)
		first := slices.IndexFunc(responses, func(r zk.MultiResponse) bool { return r.Error != nil })
		switch {
		case first < 0:
			return err
		case first >= len(nodes): // who has lost the lock now, or has handed it on meanwhile
			lost := first - len(nodes)
			if !s.refused(holders[lost:lost+1], responses[first:first+1]) {
				return err
			}
		case errors.Is(responses[first].Error, zk.ErrNoNode):
			nodes = s.remaining(slices.Delete(nodes, first, first+1))
		default:
			return err
		}
	}
}

// remaining returns those of the nodes that are not known to be gone. If the answer to their
// delete was lost, none of them is there, and to hear that one by one takes a round trip each.
func (s *Session) remaining(nodes []string) []string {
	remaining := nodes[:0]
	for some := range slices.Chunk(nodes, client.MostAsking) {
		asked := make([]*client.Call[bool], len(some))
		for i, node := range some {
			asked[i] = client.Send(s.client, func() (bool, error) {
				there, _, err := s.client.Conn.Exists(node)
				return there, err
			})
		}
		for i, node := range some {
			if there, err := asked[i].Wait(s.client.Context()); there || err != nil {
				remaining = append(remaining, node)
			}
		}
	}
	return remaining
}

// holders returns who has the locks that went on from the contenders of a batch.
func (s *Session) holders(batch []*deletion) (holders []*contender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range batch {
		if c := r.contender.holder(); c != nil && !slices.Contains(holders, c) {
			holders = append(holders, c)
		}
	}
	return holders
}

func deletes(nodes []string) []any {
	ops := make([]any, len(nodes))
	for i, node := range nodes {
		ops[i] = &zk.DeleteRequest{Path: node, Version: -1}
	}
	return ops
}

// sweep deletes those of the listed children that are ours and that nobody here knows: the
// results of creates that were executed late.
func (s *Session) sweep(l *wire.Link, dir string, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	strays := map[string][]string{}
	for _, name := range names {
		if id, ours := s.ids.of(name); ours && s.live[id] == nil {
			strays[id] = append(strays[id], recipe.Join(dir, name))
		}
	}
	for id, nodes := range strays {
		s.discard(l, id, nodes)
	}
}

// errLeftBehind says that nothing is in the way but nodes that this session is deleting.
var errLeftBehind = errors.New("zklock: nodes of this session that nobody wants any more are still there")

// mostTries bounds how often a try looks again for the end of those: a server may refuse their
// delete.
const mostTries = 5

// wanted returns those of the listed children that somebody has, or waits for: all but what
// calls of this session have left, which is being deleted.
func (s *Session) wanted(names []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		c, ours := s.ours(name)
		return ours && (c == nil || c.state == leaving || c.state == abandoned)
	})
}

// discard deletes the nodes that a create of that id in l's session has left, for whose
// contender they are of no use. s.mu is held.
func (s *Session) discard(l *wire.Link, id string, nodes []string) {
	stray := s.register(&Queue{session: s, dir: recipe.Parent(nodes[0])}, &incarnation{id: l.ID}, id)
	stray.created(nodes, 0)
	stray.leaveLocked()
}
