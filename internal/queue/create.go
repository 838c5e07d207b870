package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// entry is the request that creates a contender's nodes.
type entry struct {
	key    wire.Request // of its frame
	queues bool         // it makes a place in the queue, which a list has to show
	nodes  int          // how many it creates, if more than one
	size   int          // of the request, in bytes; it cannot be split
	token  int64        // if not the node's czxid is to be the fencing token
	create func(*zk.Conn) ([]string, error)
}

// sequential is the entry of a lock node, whose sequence the server completes.
func (q *Queue) sequential(id string, above *client.Parents) entry {
	nodes := q.requests(id, q.kind, 1)
	return entry{
		key:    wire.Request{Op: wire.OpCreate, Path: nodes[0].Path},
		queues: true,
		size:   q.createSize(),
		create: func(*zk.Conn) ([]string, error) { return above.Create(nil, nodes) },
	}
}

// requests are those for n sequential nodes.
func (q *Queue) requests(id string, kind recipe.Kind, n int) []*zk.CreateRequest {
	prefix := recipe.Join(q.dir, recipe.Stem(id, kind))
	nodes := make([]*zk.CreateRequest, n)
	for i := range nodes {
		nodes[i] = &zk.CreateRequest{Path: prefix, Data: q.options.Data, Acl: q.options.ACL, Flags: zk.FlagEphemeralSequential}
	}
	return nodes
}

// createSize returns how long the create of one of the queue's nodes may be, in bytes.
func (q *Queue) createSize() int { return client.CreateSize(q.dir, q.options.Data, q.options.ACL) }

// create makes a contender of incarnation inc. It sends the create and, right behind its frame,
// the contender's first read, so that an uncontended acquire takes one round trip. The list is nil
// if none was read, or it could not be had. After an error the node, if there is one, is being
// deleted. No method of ctx, which may be a user's and panic, is called while nobody sees to the
// node.
func (q *Queue) create(ctx context.Context, inc *incarnation, enter func(id string) entry) (*contender, *listing, error) {
	done := ctx.Done()
	s, c := q.session, q.newContender(inc, enter)
	if err := s.client.Fits(c.entry.size); err != nil {
		s.forget(c)
		return nil, nil, err
	}
	sent := func() {}
	var first *client.Call[*client.List]
	if read := c.firstRead(); read != nil {
		first = client.Later(func() (*client.List, error) { return read(s.client, s.client.Current(), q.dir) })
		sent = func() { first.Send(s.client) }
	}
	client.WaitsFor(ctx, "the answer to its create")
	seen := s.client.Tap(c.entry.key, sent)
	write := s.beginProof()
	created := client.SendUnder(done, s.client, func() ([]string, error) {
		defer s.client.Drop(seen)
		return c.entry.create(s.client.Conn)
	})
	select {
	case <-created.Done:
	case <-done:
		c.abandon()
		s.client.CleanUp(func() {
			<-created.Done
			if c.settle(s.client.Context(), s.client.Context().Done(), seen, created) == nil {
				<-c.leave().done
			}
		})
		return nil, nil, client.Ended(ctx)
	}
	if err := c.settle(ctx, done, seen, created); err != nil {
		return nil, nil, err
	}
	// If another connection has carried the create, or its answer was lost, the one that the
	// write was begun on is gone, and it proves nothing.
	s.proven(write)
	if first == nil {
		return c, nil, nil
	}
	select {
	case <-first.Done:
	case <-done:
		return c, nil, nil
	}
	if first.Err != nil {
		return c, nil, nil
	}
	return c, c.sees(first.Value), nil
}

// sees returns what c's first read has shown, if that is a list. Of the queue's node c notes since
// when that has been there, if it is as new as c's own create, by which it has changed.
func (c *contender) sees(first *client.List) *listing {
	if first.Names != nil {
		return &listing{List: first, early: true}
	}
	if !first.Missing && first.Stat.Pzxid >= c.token {
		c.since = first.Stat.Czxid
	}
	return nil
}

// settle finds out what became of the create, until ctx is done. It keeps the node if that is
// one of the contender's session, and sees to the deletion of any other.
func (c *contender) settle(ctx context.Context, done <-chan struct{}, seen *wire.Tap, created *client.Call[[]string]) error {
	s := c.queue.session
	carrier, replied, zxid := seen.Fate()
	switch {
	case created.Err == nil:
		return c.adopt(carrier, created.Value, zxid)
	case carrier == nil, replied && !client.Mishap(created.Err):
		s.forget(c) // unsent or refused: there is no node
		return c.queue.describe(created.Err)
	}
	// The search goes on when ctx has ended, to delete what it finds.
	search := client.Send(s.client, func() (struct{}, error) { return struct{}{}, c.search(carrier) })
	select {
	case <-search.Done:
		return search.Err
	case <-done:
		c.abandon()
		s.client.CleanUp(func() {
			<-search.Done
			if search.Err == nil {
				<-c.leave().done
			}
		})
		return client.Ended(ctx)
	}
}

// adopt makes node the contender's own. One that was queued for one session and executed in the
// next is not: go-zookeeper replaces an expired session without telling its callers.
func (c *contender) adopt(carrier *wire.Link, nodes []string, czxid int64) error {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if carrier.ID != c.incarnation.id {
		s.discard(carrier, c.id, nodes)
		return client.ErrSessionOver
	}
	c.carrier = carrier
	c.created(nodes, czxid)
	if len(nodes) < c.entry.nodes {
		c.lose(errNodeDeleted) // some of them, while the reply was missing
	}
	return nil
}

// errNotThere says that a create whose reply was lost has left no node.
var errNotThere = errors.New("the create had no effect")

// search looks for the node of a create that carrier took but did not answer, and adopts it.
func (c *contender) search(carrier *wire.Link) error {
	s := c.queue.session
	found := false
	err := s.client.Retry(s.client.Context(), func() error {
		l, err := s.client.Await(s.client.Context(), carrier.ID)
		if err != nil { // closed or expired: the server deletes it
			return client.Permanent(err)
		}
		nodes, stat, err := c.find()
		switch {
		case s.client.Current() != l:
			return client.ErrStale // another server may have answered a part
		case errors.Is(err, errNotThere):
			return client.Permanent(err)
		case err != nil:
			return describeSearch(err)
		}
		found = true
		return client.Permanent(c.adopt(l, nodes, stat.Czxid))
	})
	if !found {
		s.forget(c)
	}
	if client.Refused(err) { // whoever waits may have gone
		s.client.Log.Error("zklock: a lock node may be left", "path", c.queue.dir, "session", client.Hex(carrier.ID), "error", err)
		s.client.Spawn(func() { s.listYet(c.queue.dir, carrier.ID) })
	}
	return err
}

// listYet goes on with a list that was refused, in which a node may show that no call knows of:
// see sweep.
func (s *Session) listYet(dir string, session int64) {
	s.client.Persevere(func() bool {
		if _, err := s.client.Await(s.client.Context(), session); err != nil {
			return true // the node has gone with the session
		}
		_, err := s.client.List(dir)
		return err == nil
	})
}

// describeSearch says of a refusal what was refused.
func describeSearch(err error) error {
	if client.Transient(err) {
		return err
	}
	return fmt.Errorf("looking for the node of a create whose reply was lost, which blocks the others until the session ends or lists them: %w", err)
}

// find lists the queue as it is after everything that went before: see client.CatchUp. The
// session has moved to the connection's server, so that the create is committed ahead of
// whatever is written there, or not at all.
func (c *contender) find() (nodes []string, stat *zk.Stat, err error) {
	conn, dir := c.queue.session.client.Conn, c.queue.dir
	if _, err := c.queue.session.client.CatchUp(dir); err != nil {
		return nil, nil, err
	}
	names, _, err := conn.Children(dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, nil, err
	}
	for _, name := range names {
		if id, _ := c.queue.session.ids.of(name); id == c.id {
			nodes = append(nodes, recipe.Join(dir, name))
		}
	}
	if len(nodes) == 0 {
		return nil, nil, errNotThere
	}
	exists, stat, err := conn.Exists(nodes[0])
	if err == nil && !exists {
		err = client.ErrStale // of several nodes others may be there
	}
	return nodes, stat, err
}
