package queue

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// entry is what a contender asks for: its nodes.
type entry struct {
	nodes  int            // how many it creates
	above  client.Parents // of the nodes
	beside *contender     // whose sequence and token they get; nil: their own
	check  wire.Op        // that the creates depend on, and that is not first: any other check of the node may be there
}

// queues reports whether e makes a place in the queue, which a list has to show. Else it depends on what
// its owner has already.
func (e entry) queues() bool { return e.check.Code == 0 }

func (q *Queue) parents() *client.Parents {
	return q.session.client.Parents(q.dir, q.path, q.options.ACL)
}

// arrival is how a contender comes to its nodes: what is sent for that, and what has come of it.
type arrival struct {
	*contender
	above   client.Parents
	created wire.Request
	first   wire.Request // read behind that, if it is to be
	err     error        // what the create has come to
	view    *listing     // what the read has, if it was a list
	list    listing      // which that is
}

// request makes the request that creates nodes whose path begins with stem.
func (a *arrival) request(e entry, stem string) error {
	q := a.queue
	node := wire.Op{Code: wire.OpCreate, Path: stem, Data: q.options.Data, ACL: q.options.ACL, Flags: zk.FlagEphemeralSequential}
	if e.beside != nil {
		node.Path, node.Flags = recipe.Sequential(stem, e.beside.sequence), zk.FlagEphemeral
	}
	if e.queues() {
		return a.above.Request(&a.created, q.options.Says, node)
	}
	return a.above.Request(&a.created, q.options.Says, append(slices.Repeat([]wire.Op{node}, e.nodes), e.check)...)
}

// Answered takes an answer where answers are read: who comes right behind c knows of it then.
func (a *arrival) Answered(r *wire.Request) {
	switch {
	case r == &a.created:
		var nodes []string
		if nodes, a.err = a.above.Made(r, a.many); a.err == nil {
			a.err = a.adopt(r.Link(), nodes, r.Zxid())
		}
	case r.Is(wire.OpExists):
		a.stood(r)
	default:
		a.listedAlong(r)
	}
}

// firstRead returns what is to be read right behind the create, nil if nothing: the queue, or its
// node if the contender is likely to come right behind one of its session. Of many newcomers one reads that.
func (a *arrival) firstRead() *wire.Request {
	if !a.queues {
		return nil
	}
	a.queue.session.mu.Lock()
	defer a.queue.session.mu.Unlock()
	read := wire.Op{Code: wire.OpGetChildren2, Path: a.queue.dir}
	if a.othersInLine() > 0 {
		read.Code = wire.OpExists
	}
	return a.first.Of(read).For(a)
}

// create makes a contender of incarnation inc. It sends the create and, in the same write,
// the contender's first read, so that an uncontended acquire takes one round trip. The list is nil
// if none was read, or it could not be had. After an error the node, if there is one, is being
// deleted. No method of ctx, which may be a user's and panic, is called while nobody sees to the
// node.
func (q *Queue) create(ctx context.Context, inc *incarnation, e entry) (*contender, *listing, error) {
	done := ctx.Done()
	s := q.session
	c, stem := q.newContender(inc, e)
	a := &arrival{contender: c, above: e.above}
	if err := a.request(e, stem); err != nil {
		s.forget(c)
		return nil, nil, err
	}
	client.WaitsFor(ctx, "the answer to its create")
	created := a.created.For(a)
	first := a.firstRead()
	write := s.beginProof()
	last := created // to be answered
	if first == nil {
		s.client.Send(created)
	} else {
		s.client.Send(created, first)
		last = first
	}
	select {
	case <-last.Done():
	case <-done:
		c.leaveWhenCreated(func() error { return a.settle(s.client.Context(), s.client.Context().Done()) })
		return nil, nil, client.Ended(ctx)
	}
	if err := a.settle(ctx, done); err != nil {
		return nil, nil, err
	}
	s.proven(write, false) // nothing if the answer was lost, and with it the connection that the write was begun on
	return c, a.view, nil
}

// listedAlong takes the list that was read right behind the create, if it was.
func (a *arrival) listedAlong(read *wire.Request) {
	list, err := a.queue.session.client.ListOf(a.queue.dir, read)
	if err == nil && list.Names != nil {
		a.list = listing{List: list, along: true}
		a.view = &a.list
	}
}

// stood takes the queue's node as it was then.
func (a *arrival) stood(read *wire.Request) {
	if there, err := a.queue.session.client.StatOf(read); err == nil && a.err == nil {
		a.sees(there)
		a.followNext()
	}
}

// sees notes since when the queue's node has been there, if what c's first read has told of it is as
// new as c's own create, by which it has changed.
func (c *contender) sees(first *client.List) {
	if !first.Missing && first.Stat.Pzxid >= c.token {
		c.since = first.Stat.Czxid
	}
}

// settle finds out what became of the create, until ctx is done. It keeps the node if that is
// one of the contender's session, and sees to the deletion of any other.
func (a *arrival) settle(ctx context.Context, done <-chan struct{}) error {
	c, s := a.contender, a.queue.session
	<-a.created.Done() // which may fail behind what was sent along
	carrier := a.created.Link()
	switch err := a.err; {
	case err == nil:
		return nil
	case carrier == nil, a.created.Answered() && !client.Mishap(err):
		s.forget(c) // unsent, refused, or made in another session: c has no node
		return c.queue.describe(err)
	}
	// The search goes on when ctx has ended, to delete what it finds.
	search := s.client.Background(func() error { return c.search(carrier) })
	select {
	case <-search.Done():
		return search.Err()
	case <-done:
		c.leaveWhenCreated(func() error {
			<-search.Done()
			return search.Err()
		})
		return client.Ended(ctx)
	}
}

// adopt makes node the contender's own. One that was made in another session is not.
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
	if len(nodes) < c.many {
		c.lose(errNodeDeleted) // some of them, while the reply was missing
	}
	return nil
}
