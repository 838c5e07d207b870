package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
)

// removal is the delete of a contender's nodes, which goes on until they are gone
// or their session is.
type removal struct {
	contender *contender
	successor *contender // that the lock was handed to; nil if it is free

	sent chan struct{} // closed when the first delete has been written
	link *link         // to which it is written; nil while disconnected
	done chan struct{} // closed when the nodes are gone, or cannot be deleted
	err  error         // why it cannot be, once done
}

// remove deletes c's nodes in the background. Those of a contender that handed
// the lock on, to successor, may wait for company: nobody else is next. The session's mu
// is held.
func (s *Session) remove(c, successor *contender) *removal {
	r := &removal{contender: c, successor: successor, link: s.link, done: make(chan struct{})}
	if c.epoch.id != s.id || s.closed {
		delete(s.live, c.id) // the node goes with its session
		close(r.done)
		return r
	}
	s.removals = append(s.removals, r)
	if successor != nil {
		r.sent = closed
		if !s.removing {
			s.removing = s.spawnLocked(s.removeTogether)
		}
		return r
	}
	// The delete of a lock that is free now must not wait, and those before it in
	// the queue must not stay behind it.
	batch := s.takeRemovals()
	multi := len(batch) > 1 || len(c.nodes) > 1
	key := tapKey{op: opDelete, path: batch[0].contender.node, multi: multi}
	r.sent = make(chan struct{})
	seen := s.taps.add(key, func() { close(r.sent) })
	s.spawnLocked(func() {
		s.finish(batch)
		s.taps.drop(seen)
	})
	return r
}

// takeRemovals returns the removals that wait, as one batch. s.mu is held.
func (s *Session) takeRemovals() []*removal {
	batch := s.removals
	s.removals = nil
	return batch
}

// removeTogether carries out what waits, and what comes meanwhile, batch by batch.
func (s *Session) removeTogether() {
	for {
		s.mu.Lock()
		batch := s.takeRemovals()
		s.removing = len(batch) > 0
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		s.finish(batch)
	}
}

// finish carries out a batch of removals, of one session, in requests that a server
// takes: each deletes nodes, and checks those of their successors.
func (s *Session) finish(batch []*removal) {
	for _, some := range batches(batch, (*removal).paths) {
		s.finishTogether(some)
	}
}

// paths returns the paths that the removal's request names, as long as they are.
func (r *removal) paths() string {
	paths := strings.Join(r.contender.nodes, "")
	if r.successor != nil {
		paths += r.successor.node
	}
	return paths
}

func (s *Session) finishTogether(batch []*removal) {
	var nodes []string
	for _, r := range batch {
		nodes = append(nodes, r.contender.nodes...)
	}
	last := batch[len(batch)-1].contender
	err := s.deleteNodes(nodes, last, s.successors(batch))
	if err != nil && len(batch) > 1 { // a refusal is no matter of the others
		for i := range batch {
			s.finishTogether(batch[i : i+1])
		}
		return
	}
	if err != nil {
		s.log.Error("zklock: lock nodes cannot be deleted", "nodes", nodes, "session", last.epoch.id, "error", err)
	}
	for _, r := range batch {
		s.forget(r.contender)
		r.err = err
		close(r.done)
	}
}

// successors returns those to whom the lock went from the contenders of a batch, at
// once or from one to the next, and who have it still.
func (s *Session) successors(batch []*removal) []*contender {
	s.mu.Lock()
	defer s.mu.Unlock()
	var successors []*contender
	for _, r := range batch {
		if last := r.successor.lastInTurn(); last != nil && !slices.Contains(successors, last) {
			successors = append(successors, last)
		}
	}
	return successors
}

// lastInTurn returns who has the lock that c was handed: c, or whom it went on to; nil
// if it is nobody's here any more. The session's mu is held.
func (c *contender) lastInTurn() *contender {
	for c != nil && c.leaving != nil {
		c = c.leaving.successor
	}
	return c
}

// deleteNodes tries until the nodes are known to be gone. It deletes exactly
// those: their names will not come again.
func (s *Session) deleteNodes(nodes []string, last *contender, successors []*contender) error {
	for try := 0; ; try++ {
		if _, _, err := s.await(s.ctx, last.epoch.id); err != nil {
			return nil // closed or expired: the server deletes them
		}
		if last.nearTheEnd() && len(successors) == 0 && s.resetCounter(nodes, last.queue.dir) == nil {
			return nil
		}
		err := s.deleteAll(nodes, successors)
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode):
			return nil
		case !transient(err):
			if errors.Is(err, zk.ErrNoAuth) {
				err = fmt.Errorf("the ACL of %s does not let this session delete %s, which blocks the others until the session ends: %w",
					last.queue.dir, strings.Join(nodes, ", "), err)
			}
			return err
		}
		if err := s.sleep(s.ctx, pauseBefore(try)); err != nil {
			return nil
		}
	}
}

// resetCounter deletes the nodes together with their parent, if nobody else is
// there, so that the parent is made anew with its counter at zero.
func (s *Session) resetCounter(nodes []string, dir string) error {
	_, err := s.conn.Multi(append(deletes(nodes), &zk.DeleteRequest{Path: dir, Version: -1})...)
	return err
}

// startAfresh deletes the path, once nobody is there, so that it is made anew with its
// counter at zero. Its error says why that will never be.
func (q *queue) startAfresh(ctx context.Context) error {
	never := func(reason string, err error) error {
		return fmt.Errorf("%w, and starts afresh with the path only: %s: %w", errUnordered, reason, err)
	}
	s := q.session
	if q.dir == "/" {
		return never("the root cannot be deleted", zk.ErrBadArguments)
	}
	_, err := send(s, func() (struct{}, error) { return struct{}{}, s.conn.Delete(q.dir, -1) }).wait(ctx)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return never(fmt.Sprintf("the ACL of %s does not let this session delete %s", parent(q.dir), q.dir), err)
	case !errors.Is(err, zk.ErrNotEmpty):
		return nil
	}
	names, _ := s.children(q.dir).wait(ctx)
	for _, name := range names { // contenders leave in time
		if _, contends := parseChild(name); !contends {
			return never(fmt.Sprintf("%s has the child %q, which is no lock node", q.dir, name), err)
		}
	}
	return nil
}

func deletes(nodes []string) []any {
	ops := make([]any, len(nodes))
	for i, node := range nodes {
		ops[i] = &zk.DeleteRequest{Path: node, Version: -1}
	}
	return ops
}

// deleteAll deletes nodes, as many in one transaction as fit a request.
func (s *Session) deleteAll(nodes []string, successors []*contender) error {
	for _, some := range batches(nodes, func(node string) string { return node }) {
		if err := s.deleteTogether(some, successors); err != nil {
			return err
		}
	}
	return nil
}

// deleteTogether deletes nodes in one transaction, while the successors have theirs. A successor
// whose node somebody else has deleted, unseen since it was not watched yet, loses
// its hold before the node goes that kept others from the lock.
func (s *Session) deleteTogether(nodes []string, successors []*contender) error {
	reviewed := false
	for len(nodes) > 0 {
		if len(nodes) == 1 && len(successors) == 0 {
			_, err := present(nil, s.conn.Delete(nodes[0], -1))
			return err
		}
		responses, err := s.conn.Multi(append(deletes(nodes), checks(successors)...)...)
		first := slices.IndexFunc(responses, func(r zk.MultiResponse) bool { return r.Error != nil })
		switch {
		case err == nil || first < 0:
			return err
		case first >= len(nodes):
			lost := first - len(nodes)
			s.refused(successors[lost:lost+1], responses[first:first+1])
			successors = s.succeeded(successors, lost)
		case errors.Is(responses[first].Error, zk.ErrNoNode):
			if !reviewed {
				if err := s.review(successors); err != nil {
					return err
				}
				reviewed = true
			}
			nodes = slices.Concat(nodes[:first], nodes[first+1:])
		default:
			return err
		}
	}
	return nil
}

// succeeded returns the successors without the ith, or with whom the lock has gone on
// to from that one.
func (s *Session) succeeded(successors []*contender, i int) []*contender {
	s.mu.Lock()
	defer s.mu.Unlock()
	others := slices.Concat(successors[:i], successors[i+1:])
	if last := successors[i].lastInTurn(); last != nil && last.cause == nil && !slices.Contains(others, last) {
		others = append(others, last)
	}
	return others
}

// review looks at the queue for successors to whom the lock went from a node that is
// gone. If it was not us who deleted that, the queue may be another one since, whose
// numbers began anew, and the lock somebody else's: the successor loses its hold then.
func (s *Session) review(successors []*contender) error {
	for _, c := range successors {
		for c != nil {
			view, err := s.list(c.queue.dir)
			if err != nil && transient(err) {
				return err
			}
			c = s.reviewed(c, view, err)
		}
	}
	return nil
}

// reviewed ends the hold of whoever has the lock that was c's if view, which was read
// while c had it or later, does not show c at the head of the queue, but for nodes that
// are being deleted here, or was refused. A view without c says nothing if c has left
// meanwhile: reviewed returns whom the lock has gone to then, and nil otherwise.
func (s *Session) reviewed(c *contender, view *listing, refusal error) *contender {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := c.lastInTurn()
	switch {
	case last == nil:
		return nil
	case refusal != nil:
		last.vanish(refusal)
		return nil
	}
	view.names = slices.DeleteFunc(view.names, func(name string) bool {
		id, ours := s.ids.of(name)
		other := s.live[id]
		return ours && other != c && (other == nil || other.leaving != nil)
	})
	at, err := view.placeOf(c)
	switch {
	case err == nil && at.ahead == 0:
	case err != nil && last != c:
		return last
	default:
		last.vanish(errNodeDeleted)
	}
	return nil
}

// sweep deletes those of the listed children that are ours and that nobody here
// knows: the results of creates that were executed late.
func (s *Session) sweep(l *link, dir string, names []string) {
	var strays map[string][]string
	s.mu.Lock()
	for _, name := range names {
		id, ours := s.ids.of(name)
		if !ours || s.live[id] != nil {
			continue
		}
		if strays == nil {
			strays = make(map[string][]string)
		}
		strays[id] = append(strays[id], join(dir, name))
	}
	s.mu.Unlock()
	for id, nodes := range strays {
		s.discard(l, id, nodes)
	}
}

// discard deletes the nodes that a create of that id in l's session has left,
// unless a live contender knows them.
func (s *Session) discard(l *link, id string, nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[id] != nil || s.closed {
		return
	}
	stray := s.register(&queue{session: s, dir: parent(nodes[0])}, &epoch{id: l.id}, id)
	stray.born(nodes, 0)
	stray.leaving = s.remove(stray, nil)
}

// maxUnclean bounds the calls whose ctx has ended and whose nodes are not known to
// be gone yet.
const maxUnclean = 64

// cleanUp finishes in the background what a call has left behind. The session's
// next calls wait when too much of that is under way: see makeRoom.
func (s *Session) cleanUp(finish func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spawnLocked(func() {
		finish()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unclean--; s.unclean == maxUnclean-1 {
			s.broadcast()
		}
	}) {
		s.unclean++
	}
}

func init() {
	client.MakeRoom = func(ctx context.Context, session any) error { return session.(*Session).makeRoom(ctx) }
	client.CleanUp = func(session any, finish func()) { session.(*Session).cleanUp(finish) }
}

// makeRoom waits until few enough nodes of ended calls are left, so that a caller
// that polls a server which hangs, or is slower than the polling, does not pile up
// work without bound.
func (s *Session) makeRoom(ctx context.Context) error {
	for {
		s.mu.Lock()
		unclean, changed := s.unclean, s.changed
		s.mu.Unlock()
		if unclean < maxUnclean {
			return nil
		}
		waitsFor(ctx, "the nodes of earlier calls to be deleted")
		select {
		case <-changed:
		case <-s.ctx.Done():
			return ErrClosed
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}
