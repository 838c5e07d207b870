package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// List is what a node's children were.
type List struct {
	Link    *wire.Link // that carried it
	Names   []string
	Missing bool // there is no node
	Stat    *zk.Stat

	once  sync.Once
	nodes []recipe.Node
}

// Generation is another one after each change of a node's children. Their zxid alone is not: once
// the sequence counter is at its end, a create leaves that as it is (ZooKeeper's DataTree).
type Generation struct {
	zxid     int64
	children int32
}

// GenerationOf returns that of the children of the node that has this stat.
func GenerationOf(stat *zk.Stat) Generation { return Generation{stat.Pzxid, stat.NumChildren} }

// Before reports whether g is older than other.
func (g Generation) Before(other Generation) bool {
	return g.zxid < other.zxid || g.zxid == other.zxid && g.children < other.children
}

// Nodes returns the lock nodes among the children. Of all who share the list, one reads them: of
// thousands who wait, each would take as long as there are children.
func (l *List) Nodes() []recipe.Node {
	l.once.Do(func() { l.nodes = recipe.Nodes(l.Names) })
	return l.nodes
}

// SendRecent sends a read over the connection that stands, which has to be as new as to decide something:
// what it shows is no older than all that this session has been told before. A connection may have
// been made to a server that lags: it is kept from going back behind the last answer, but not behind
// an event of ZooKeeper 3.8. Once a write that a majority has committed was answered there, the server has
// applied what was committed before. The first create or proof on a connection is such a write; if
// none was answered yet, one that changes nothing goes ahead of the read. See [Client.Decides].
func (c *Client) SendRecent(path string, read *wire.Request) {
	if l := c.Current(); l == nil || l.CaughtUp() {
		c.Send(read)
		return
	}
	c.Send(wire.NewTransaction(Check(path)), read)
}

// Decides returns the connection over which a read was answered that SendRecent has sent; ErrStale if
// it may not decide anything.
func (c *Client) Decides(read *wire.Request) (*wire.Link, error) {
	l := read.Link()
	if l == nil || c.Current() != l || !l.CaughtUp() {
		return nil, ErrStale
	}
	return l, nil
}

// Children is the request for a node's children.
func Children(dir string) *wire.Request {
	return wire.NewRequest(wire.Op{Code: wire.OpGetChildren2, Path: dir})
}

// Exists is the request for whether there is a node.
func Exists(path string) *wire.Request {
	return wire.NewRequest(wire.Op{Code: wire.OpExists, Path: path})
}

// ListOf returns what the answer to a request for a node's children, or for its stat alone, has
// shown: then there are no Names. A node that does not exist has none. It is told to the observer.
func (c *Client) ListOf(dir string, r *wire.Request) (*List, error) {
	names, stat, err := childrenOf(dir, r)
	missing := errors.Is(err, zk.ErrNoNode)
	if err != nil && !missing {
		return nil, err
	}
	l := r.Link()
	if c.Current() != l {
		return nil, ErrStale
	}
	c.observer.Listed(l, dir, names)
	return &List{Link: l, Names: names, Missing: missing, Stat: stat}, nil
}

// childrenOf returns what the answer to a request for the children of dir says.
func childrenOf(dir string, r *wire.Request) (names []string, stat *zk.Stat, err error) {
	names, stat, err = r.Children()
	if errors.Is(err, zk.ErrNoAuth) {
		err = fmt.Errorf("the ACL of %s does not let this session list its children: %w", dir, err)
	}
	return names, stat, err
}

// StatOf is ListOf of the node alone.
func (c *Client) StatOf(r *wire.Request) (*List, error) {
	stat, err := r.Stat()
	missing := errors.Is(err, zk.ErrNoNode)
	switch {
	case err != nil && !missing:
		return nil, err
	case c.Current() != r.Link():
		return nil, ErrStale
	}
	return &List{Link: r.Link(), Missing: missing, Stat: stat}, nil
}

// FreshList lists the children of dir as they were at some instant of this call: the sync that
// goes ahead of it makes the server catch up first. A leader that was deposed and does not know it
// yet answers that alone: the list may refuse a try for a lock, and never grants one.
func (c *Client) FreshList(ctx context.Context, dir string) (*List, error) {
	if _, err := c.Await(ctx, AnySession); err != nil {
		return nil, err
	}
	if err := c.MakeRoom(ctx); err != nil {
		return nil, err
	}
	WaitsFor(ctx, "a list of the queue")
	sync, listed := wire.NewRequest(wire.Op{Code: wire.OpSync, Path: dir}), Children(dir)
	c.Send(sync, listed)
	if err := Wait(ctx, sync); err != nil {
		c.Leave(listed)
		return nil, err
	}
	if over, err := c.WaitOrLeave(ctx, listed); !over {
		return nil, err
	}
	return c.ListOf(dir, listed)
}

// lists are the reads that several callers share, by node: one is under way at a time, and who
// comes meanwhile shares the next, since the first may show the children as they were before.
type lists struct {
	client *Client

	mu    sync.Mutex // guards reads; the client's and the link's are locked under it
	reads map[string]*sharedList
}

type sharedList struct{ underWay, next *Reading }

// Reading is a list that is under way.
type Reading struct {
	done chan struct{}
	list *List
	err  error
}

// Wait returns the list, or ctx's error if that ends first.
func (r *Reading) Wait(ctx context.Context) (*List, error) {
	select {
	case <-r.done:
		return r.list, r.err
	case <-ctx.Done():
		return nil, Ended(ctx)
	}
}

func (ls *lists) init(c *Client) { ls.client, ls.reads = c, make(map[string]*sharedList) }

// JoinList lists the children of dir as they are at some instant from now on.
func (c *Client) JoinList(dir string) *Reading {
	ls := &c.lists
	ls.mu.Lock()
	shared := ls.reads[dir]
	if shared != nil {
		defer ls.mu.Unlock()
		if shared.next == nil {
			shared.next = newReading()
		}
		return shared.next
	}
	read := newReading()
	ls.reads[dir] = &sharedList{underWay: read}
	ls.mu.Unlock()
	ls.begin(dir, read)
	return read
}

func newReading() *Reading { return &Reading{done: make(chan struct{})} }

// begin sends a list.
func (ls *lists) begin(dir string, read *Reading) {
	ls.client.SendRecent(dir, Children(dir).Then(func(r *wire.Request) { ls.listed(dir, read, r) }))
}

// listed takes the answer, and begins the list that was asked for meanwhile.
func (ls *lists) listed(dir string, read *Reading, r *wire.Request) {
	c := ls.client
	if _, err := c.Decides(r); r.Answered() && err != nil {
		read.err = err
	} else {
		read.list, read.err = c.ListOf(dir, r)
	}
	if read.err != nil && c.Closed() {
		read.err = ErrClosed
	}
	ls.mu.Lock()
	next := ls.reads[dir].next
	if next == nil {
		delete(ls.reads, dir)
	} else {
		ls.reads[dir] = &sharedList{underWay: next}
	}
	ls.mu.Unlock()
	close(read.done)
	if next != nil {
		ls.begin(dir, next)
	}
}
