package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// sight is what the contenders of a session know of their queue by its last list. Whoever comes later gets
// a larger number, and a name never comes again: so of those ahead there are only fewer. A contender that the
// list shows need not list the queue again while few of these may still be there: it asks for these alone.
type sight struct {
	list  *client.List // nil if there is none
	floor int32        // the nodes below this number have gone since
}

// To be asked for, a node costs as much as some names in a list, and a request has room for some paths.
const (
	namesPerNode = 8
	pathsInAll   = 4 << 10 // bytes
)

// show keeps what a list has shown, for all contenders of this session in the queue. One that is alone there
// asks for a list when it is woken: most of those ahead of it have gone by then.
func (c *contender) show(list *client.List) {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.index.listsOnly && c.othersInLine() > 0 && s.index.sights[c.queue.dir].list != list {
		s.index.sights[c.queue.dir] = sight{list: list}
	}
}

// ahead returns the nodes ahead of c that may still be there, by what was seen; false if c has to list the queue
// to know them, or had better.
func (c *contender) ahead() (at sight, nodes []recipe.Node, ok bool) {
	s := c.queue.session
	s.mu.Lock()
	at = s.index.sights[c.queue.dir]
	s.mu.Unlock()
	if at.list != nil {
		listed := at.list.Nodes()
		most := min(1+len(listed)/namesPerNode, pathsInAll/len(c.node))
		nodes, ok = recipe.Remaining(listed, c.listed(), at.floor, most)
	}
	return at, nodes, ok
}

// askAhead returns the part of the queue that is ahead of c, and c, as a list would show it; nil if c has
// to list the queue. Its own node is read last: none of those that have gone before came back.
func (c *contender) askAhead(ctx context.Context) (*listing, error) {
	at, nodes, ok := c.ahead()
	if !ok {
		return nil, nil
	}
	s := c.queue.session
	nodes = append(nodes, c.listed())
	ops := make([]wire.Op, len(nodes))
	for i, n := range nodes {
		ops[i] = wire.Op{Code: wire.OpGetData, Path: recipe.Join(c.queue.dir, n.Name)}
	}
	client.WaitsFor(ctx, "whether those ahead in the queue are still there")
	var view *listing
	var err error
	reads := wire.NewReads(ops...).Then(func(r *wire.Request) { view, err = c.told(at, nodes, r) })
	s.client.SendRecent(c.queue.dir, reads)
	if over, err := s.client.WaitOrLeave(ctx, reads); !over {
		return nil, err
	}
	return view, err
}

// told takes the answer where answers are read: a refusal is known before others are woken by the end of its
// connection. Who may not read a node lists the queue.
func (c *contender) told(at sight, nodes []recipe.Node, reads *wire.Request) (*listing, error) {
	s := c.queue.session
	if reads.Err() == wire.ErrUnimplemented { // before ZooKeeper 3.6, which ends the connection, too
		s.mu.Lock()
		s.index.listsOnly = true
		s.mu.Unlock()
	}
	link, err := s.client.Decides(reads)
	if err != nil {
		return nil, err
	}
	results, _ := reads.Results()
	there, floor := make([]string, 0, 1), c.sequence
	for i, r := range results {
		switch {
		case r.Err == nil:
			there, floor = append(there, nodes[i].Name), min(floor, nodes[i].Sequence)
		case r.Err != zk.ErrNoNode:
			results = nil
		}
	}
	if results == nil {
		c.see(at, sight{})
		return nil, nil
	}
	c.see(at, sight{at.list, floor})
	s.sweep(link, c.queue.dir, there)
	return &listing{List: &client.List{Link: link, Names: there}, part: true}, nil
}

// see replaces what was seen, unless the queue was listed meanwhile.
func (c *contender) see(before, now sight) {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.sights[c.queue.dir] == before {
		s.index.sights[c.queue.dir] = now
	}
}
