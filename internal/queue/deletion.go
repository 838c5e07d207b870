package queue

import (
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
	"github.com/zklock/zklock/internal/wire"
)

// deletion is the delete of a contender's nodes, which goes on until they are gone or their
// session is.
type deletion struct {
	contender *contender

	// Guarded by the session's mu.
	sent *wire.Request // the first one that deletes them; nil if that waits for a connection, or for others
	link *wire.Link    // likewise, over which

	alone wire.Request // what was sent, if that deletes no others

	done latch.Latch // closed when the nodes are gone, or cannot be deleted for now
	err  error       // why it cannot be, once done
	met  atomic.Bool // by the first of countLeft and finish
}

// countLeft counts the deletion among what ended calls have left, until it is done.
func (r *deletion) countLeft() {
	c := r.contender.queue.session.client
	c.LeftBehind(1)
	if r.met.Swap(true) {
		c.LeftBehind(-1)
	}
}

func (r *deletion) finish(err error) {
	r.err = err
	r.done.Close()
	if r.met.Swap(true) {
		r.contender.queue.session.client.LeftBehind(-1)
	}
}

// batch is deletions that are carried out by one request.
type batch struct {
	deletions []*deletion
	first     *attempt // nil while disconnected
}

// deleteLater deletes c's nodes in the background. The session's mu is held.
func (s *Session) deleteLater(c *contender) *deletion {
	r := &deletion{contender: c}
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
		s.deleteAhead()
	}
	return r
}

// deleteAhead sends the deletes that wait, of which the last is of a lock that is free now and must
// not wait, nor those before it in the queue stay behind it. s.mu is held.
func (s *Session) deleteAhead() {
	r := s.deletions[0]
	if len(s.deletions) > 1 || len(r.contender.nodes) > 1 || s.link == nil || s.link.ID != s.id {
		batches := s.takeDeletions()
		s.client.Spawn(func() { s.carryOut(batches) })
		return
	}
	s.noneWait()
	if !s.client.Begin() {
		r.finish(nil) // the node goes with its session
		return
	}
	r.sent, r.link = r.alone.Of(client.Delete(r.contender.node)).For(r), s.link
	s.link.Send(r.sent)
}

// s.mu is held.
func (s *Session) noneWait() {
	clear(s.deletions) // which holds may be kept in memory by
	s.deletions = s.deletions[:0]
}

// Answered takes what the delete of a node has come to that went out alone.
func (r *deletion) Answered(sent *wire.Request) {
	s := r.contender.queue.session
	defer s.client.End()
	err := sent.Err()
	if err != nil && !errors.Is(err, zk.ErrNoNode) && s.client.Spawn(func() { s.finish([]*deletion{r}, nil) }) {
		return
	}
	s.forget(r.contender)
	r.finish(nil)
}

// isOver reports whether the session that c's nodes go with has ended, or is closed. s.mu is held.
func (s *Session) isOver(c *contender) bool { return s.closed || c.incarnation.id != s.id }

// takeDeletions sends the deletes that wait, if there is a connection, and returns them as a server
// takes them: one request goes out behind the other, which may check a node that it deletes. s.mu is
// held.
func (s *Session) takeDeletions() (batches []*batch) {
	for _, some := range client.Batches(s.client, s.deletions, (*deletion).size) {
		b := &batch{deletions: some}
		if s.link != nil && s.link.ID == some[0].contender.incarnation.id {
			b.first = s.attempt(some, nodesOf(some))
			s.link.Send(b.first.request)
			for _, r := range some {
				r.sent, r.link = b.first.request, s.link
			}
		}
		batches = append(batches, b)
	}
	s.noneWait()
	return batches
}

// request returns sent and link: what deletes the nodes, and over which connection; nil while that waits.
func (r *deletion) request() (*wire.Request, *wire.Link) {
	s := r.contender.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.sent, r.link
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

func (s *Session) carryOut(batches []*batch) {
	var all sync.WaitGroup
	for _, b := range batches {
		all.Go(func() { s.finish(b.deletions, b.first) })
	}
	all.Wait()
}

// finish carries out deletions of one session, together if no server refuses that: a refusal is no
// matter of the others, nor are thousands of them.
func (s *Session) finish(together []*deletion, first *attempt) {
	err := s.deleteNodes(together, first)
	if err == nil || len(together) == 1 {
		s.finished(together, err)
		return
	}
	var alone errgroup.Group
	alone.SetLimit(client.MostAsking)
	for i := range together {
		one := together[i : i+1]
		alone.Go(func() error { s.finished(one, s.deleteNodes(one, nil)); return nil })
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
	s.client.Persevere(func() bool { return s.deleteNodes([]*deletion{r}, nil) == nil })
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

// deleteNodes tries until the nodes of a batch are known to be gone; the first attempt, unless that is
// nil, was made. It deletes exactly those: their names will not come again.
func (s *Session) deleteNodes(batch []*deletion, first *attempt) error {
	last := batch[len(batch)-1].contender
	err := s.client.Retry(s.client.Context(), func() error {
		if _, err := s.client.Await(s.client.Context(), last.incarnation.id); err != nil {
			return nil // expired, or closed: the server deletes them
		}
		a := first
		first = nil
		if err := s.deleteTogether(batch, a); !errors.Is(err, zk.ErrNoNode) {
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
// The first attempt, unless that is nil, was sent.
func (s *Session) deleteTogether(batch []*deletion, first *attempt) error {
	if first != nil {
		return s.deleteAtOnce(batch, first.nodes, first)
	}
	for _, part := range client.Batches(s.client, batch, (*deletion).size) {
		for _, nodes := range client.Batches(s.client, nodesOf(part), func(node string) int { return len(node) }) {
			if err := s.deleteAtOnce(part, nodes, nil); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
		}
	}
	return nil
}

// attempt is a transaction that deletes nodes while those who have the locks that went on from there
// have their nodes.
type attempt struct {
	nodes   []string
	holders []*contender
	request *wire.Request // nil if there is nothing to delete or to check
}

// s.mu is held.
func (s *Session) attempt(batch []*deletion, nodes []string) *attempt {
	a := &attempt{nodes: nodes, holders: holdersOf(batch)}
	switch {
	case len(a.nodes)+len(a.holders) == 0:
	case len(a.nodes) == 1 && len(a.holders) == 0:
		a.request = wire.NewRequest(client.Delete(nodes[0]))
	default:
		a.request = wire.NewTransaction(append(deletes(nodes), checks(a.holders)...)...)
	}
	return a
}

// deleteAtOnce deletes nodes of a batch in one transaction, while those who have the
// locks that went on from there have their nodes. One whose node somebody else has deleted,
// unseen since it was not watched yet, loses its hold before the node goes that kept others
// from the lock. The first attempt, unless that is nil, was sent.
func (s *Session) deleteAtOnce(batch []*deletion, nodes []string, a *attempt) error {
	for ; ; a = nil {
		if a == nil {
			s.mu.Lock()
			a = s.attempt(batch, nodes)
			s.mu.Unlock()
			if a.request == nil {
				return nil
			}
			s.client.Send(a.request)
		}
		err := client.Wait(s.client.Context(), a.request)
		if err != nil || !a.request.Is(wire.OpMulti) {
			return err
		}
		results, err := a.request.Results()
		first := slices.IndexFunc(results, func(r wire.Result) bool { return r.Err != nil })
		switch {
		case first < 0:
			return err
		case first >= len(nodes): // who has lost the lock now, or has handed it on meanwhile
			lost := first - len(nodes)
			if !s.checked(a.holders[lost:lost+1], results[first:first+1]) {
				return err
			}
		case errors.Is(results[first].Err, zk.ErrNoNode):
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
		asked := make([]*wire.Request, len(some))
		for i, node := range some {
			asked[i] = client.Exists(node)
		}
		s.client.Send(asked...)
		for i, node := range some {
			if err := client.Wait(s.client.Context(), asked[i]); !errors.Is(err, zk.ErrNoNode) {
				remaining = append(remaining, node)
			}
		}
	}
	return remaining
}

// holdersOf returns who has the locks that went on from the contenders of a batch. The session's mu
// is held.
func holdersOf(batch []*deletion) (holders []*contender) {
	for _, r := range batch {
		if c := r.contender.holder(); c != nil && !slices.Contains(holders, c) {
			holders = append(holders, c)
		}
	}
	return holders
}

func deletes(nodes []string) []wire.Op {
	ops := make([]wire.Op, len(nodes))
	for i, node := range nodes {
		ops[i] = client.Delete(node)
	}
	return ops
}
