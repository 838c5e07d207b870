package queue

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	met   atomic.Bool   // by the first of behind and finish
}

// behind counts the deletion among what ended calls have left behind, until it is done.
func (r *deletion) behind() {
	c := r.contender.queue.session.client
	c.LeftBehind(1)
	if r.met.Swap(true) {
		c.LeftBehind(-1)
	}
}

// finish ends the deletion.
func (r *deletion) finish(err error) {
	r.err = err
	close(r.done)
	if r.met.Swap(true) {
		r.contender.queue.session.client.LeftBehind(-1)
	}
}

// batch is deletions that are carried out by one request.
type batch struct {
	deletions []*deletion
	link      *wire.Link  // to which it is written first; nil while disconnected
	before    *batch      // taken before this one, until that is known to be written
	sent      latch.Latch // given when it has been written, or is over
}

// deleteLater deletes c's nodes in the background. The session's mu is held.
func (s *Session) deleteLater(c *contender) *deletion {
	r := &deletion{contender: c, done: make(chan struct{})}
	if s.isOver(c) {
		delete(s.live, c.id) // the node goes with its session
		r.finish(nil)
		return r
	}
	s.deletions = append(s.deletions, r)
	switch {
	case c.holder() != nil: // it has handed the lock on, and may wait for others: nobody else is next
		if !s.deleting {
			s.deleting = s.client.Spawn(s.deleteWaiting)
		}
	case c.hold == nil: // it never had the lock, as thousands whose calls end together
		if !s.taking {
			s.taking = s.client.Spawn(s.deleteSoon)
		}
	default:
		// The delete of a lock that is free now must not wait, and those before it in the queue
		// must not stay behind it.
		batches := s.takeDeletions()
		r.batch = batches[len(batches)-1]
		s.client.Spawn(func() { s.carryOut(batches) })
	}
	return r
}

// isOver reports whether the session that c's nodes go with has ended, or is closed. s.mu is held.
func (s *Session) isOver(c *contender) bool { return s.closed || c.incarnation.id != s.id }

// takeDeletions returns the deletions that wait, as a server takes them. s.mu is held.
func (s *Session) takeDeletions() (batches []*batch) {
	for _, some := range client.Batches(s.client, s.deletions, (*deletion).size) {
		s.taken = &batch{deletions: some, link: s.link, before: s.taken}
		batches = append(batches, s.taken)
	}
	s.deletions = nil
	return batches
}

// size returns how long the paths of the deletion's nodes are.
func (r *deletion) size() (size int) {
	for _, node := range r.contender.nodes {
		size += len(node)
	}
	return size
}

// deleteSoon carries out what has come until it runs, behind those who are on their way.
func (s *Session) deleteSoon() {
	runtime.Gosched()
	s.mu.Lock()
	s.taking = false
	batches := s.takeDeletions()
	s.mu.Unlock()
	s.carryOut(batches)
}

// deleteWaiting carries out what waits, and what comes meanwhile.
func (s *Session) deleteWaiting() {
	for {
		s.mu.Lock()
		s.deleting = len(s.deletions) > 0
		if !s.deleting {
			s.mu.Unlock()
			return
		}
		batches := s.takeDeletions()
		s.mu.Unlock()
		s.carryOut(batches)
	}
}

// carryOut deletes the nodes of each batch.
func (s *Session) carryOut(batches []*batch) {
	var all sync.WaitGroup
	for _, b := range batches {
		all.Go(func() { s.carryOutOne(b) })
	}
	all.Wait()
}

// carryOutOne deletes a batch's nodes. Its request goes out behind that of the batch before, which
// may check a node that this one deletes, and may have what is ahead in the queue.
func (s *Session) carryOutOne(b *batch) {
	if before := b.before; before != nil && before.link != nil {
		select {
		case <-before.sent.Done():
		case <-before.link.Down():
		}
	}
	b.before = nil
	seen := s.client.Tap(wire.Request{Op: wire.OpDelete, Path: b.deletions[0].contender.node}, b.sent.Close)
	s.finish(b.deletions)
	s.client.Drop(seen)
	b.sent.Close()
}

// finish carries out deletions of one session, together if no server refuses that: a refusal is no
// matter of the others, nor are thousands of them.
func (s *Session) finish(together []*deletion) {
	err := s.deleteNodes(together)
	if err == nil || len(together) == 1 {
		s.finished(together, err)
		return
	}
	var alone errgroup.Group
	alone.SetLimit(client.MostAsking)
	for i := range together {
		one := together[i : i+1]
		alone.Go(func() error { s.finished(one, s.deleteNodes(one)); return nil })
	}
	_ = alone.Wait()
}

// finished takes what has become of deletions; of one, if it is refused.
func (s *Session) finished(some []*deletion, err error) {
	if err != nil {
		s.client.Log.Error("zklock: lock nodes cannot be deleted", "nodes", some[0].contender.nodes, "session", client.Hex(some[0].contender.incarnation.id), "error", err)
		s.client.Spawn(func() { s.deleteYet(some[0]) })
	}
	if err == nil {
		gone := make([]*contender, len(some))
		for i, r := range some {
			gone[i] = r.contender
		}
		s.forget(gone...)
	}
	for _, r := range some {
		r.finish(err)
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

// deleteTogether deletes the nodes of a batch, in their order, by as few requests as the servers take.
func (s *Session) deleteTogether(batch []*deletion) error {
	var gone error
	for _, part := range client.Batches(s.client, batch, (*deletion).size) {
		for _, nodes := range client.Batches(s.client, nodesOf(part), func(node string) int { return len(node) }) {
			err := s.deleteAtOnce(part, nodes)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			gone = cmp.Or(gone, err)
		}
	}
	return gone
}

// deleteAtOnce deletes nodes of a batch in one transaction, while those who have the
// locks that went on from there have their nodes. One whose node somebody else has deleted,
// unseen since it was not watched yet, loses its hold before the node goes that kept others
// from the lock.
func (s *Session) deleteAtOnce(batch []*deletion, nodes []string) error {
	for {
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
var errLeftBehind = errors.New("nodes of this session that nobody wants any more are still there")

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
