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

// CatchUp returns the connection when it can be read by to decide something: what it shows from
// then on is as new as all that this session has been told before. A connection may have been
// made to a server that lags: go-zookeeper keeps it from going back behind the last reply, but
// not behind the last event. Once a write that a majority has committed was answered there, the
// server has applied what was committed before. The first create or proof on a connection is
// such a write; if there is none yet, one is made that changes nothing. It blocks while
// go-zookeeper does: see Send.
func (c *Client) CatchUp(path string) (*wire.Link, error) {
	l := c.Current()
	if l == nil {
		return nil, ErrStale
	}
	if l.CaughtUp() {
		return l, nil
	}
	l.CatchingUp <- struct{}{}
	defer func() { <-l.CatchingUp }()
	if c.Current() != l {
		return nil, ErrStale
	}
	var err error
	if !l.CaughtUp() {
		_, err = c.Conn.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
	}
	switch {
	case l.CaughtUp(): // also by a check that failed
		return l, nil
	case err == nil, errors.Is(err, zk.ErrNoNode):
		err = ErrStale // another connection has carried it
	}
	return nil, err
}

// List lists the children of dir as new as they have to be: see CatchUp.
func (c *Client) List(dir string) (*List, error) {
	l, err := c.CatchUp(dir)
	if err != nil {
		return nil, err
	}
	return c.ListOver(l, dir)
}

// ListOver lists the children of dir over l, behind whatever has gone out there, and blocks
// while go-zookeeper does: see Send. A node that does not exist has none.
func (c *Client) ListOver(l *wire.Link, dir string) (*List, error) {
	names, stat, err := c.children(dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	if l == nil || c.Current() != l {
		return nil, ErrStale
	}
	c.observer.Listed(l, dir, names)
	return &List{Link: l, Names: names, Missing: err != nil, Stat: stat}, nil
}

// children reads the children of dir.
func (c *Client) children(dir string) (names []string, stat *zk.Stat, err error) {
	names, stat, err = c.Conn.Children(dir)
	if errors.Is(err, zk.ErrNoAuth) {
		err = fmt.Errorf("the ACL of %s does not let this session list its children: %w", dir, err)
	}
	return names, stat, err
}

// StatOver is ListOver of the node alone, whose Names are nil.
func (c *Client) StatOver(l *wire.Link, dir string) (*List, error) {
	there, stat, err := c.Conn.Exists(dir)
	switch {
	case err != nil:
		return nil, err
	case l == nil || c.Current() != l:
		return nil, ErrStale
	}
	return &List{Link: l, Missing: !there, Stat: stat}, nil
}

// FreshList lists the children of dir as they were at some instant of this call: the sync that
// goes ahead of it, over the same connection, makes the server catch up first. A leader that
// was deposed and does not know it yet answers that alone: the list may refuse a try for a
// lock, and never grants one.
func (c *Client) FreshList(ctx context.Context, dir string) (*List, error) {
	l, err := c.Await(ctx, AnySession)
	if err != nil {
		return nil, err
	}
	if err := c.MakeRoom(ctx); err != nil {
		return nil, err
	}
	WaitsFor(ctx, "a list of the queue")
	done := ctx.Done()
	listed := Later(func() (*List, error) { return c.ListOver(l, dir) })
	seen := c.Tap(wire.Request{Op: wire.OpSync, Path: dir}, func() { listed.Send(c) })
	synced := SendUnder(done, c, func() (string, error) {
		defer c.Drop(seen)
		return c.Conn.Sync(dir)
	})
	if _, err := synced.Wait(ctx); err != nil {
		synced.Leave(c)
		return nil, err
	}
	listed.Send(c) // if our sync was taken for another caller's
	return listed.Wait(ctx)
}

// lists are the reads that several callers share, by node: one is under way at a time, and who
// comes meanwhile shares the next, since the first may show the children as they were before.
type lists struct {
	client *Client

	mu    sync.Mutex // guards reads; life's is locked under it
	reads map[string]*sharedList
}

type sharedList struct{ underWay, next *Call[*List] }

func (ls *lists) init(c *Client) { ls.client, ls.reads = c, make(map[string]*sharedList) }

// JoinList lists the children of dir as they are at some instant from now on.
func (c *Client) JoinList(dir string) *Call[*List] {
	ls := &c.lists
	ls.mu.Lock()
	defer ls.mu.Unlock()
	shared := ls.reads[dir]
	if shared == nil {
		return ls.begin(dir, ls.read(dir))
	}
	if shared.next == nil {
		shared.next = ls.read(dir)
	}
	return shared.next
}

func (ls *lists) read(dir string) *Call[*List] {
	return Later(func() (*List, error) {
		defer ls.listed(dir)
		return ls.client.List(dir)
	})
}

// begin sends a list. A client that is closed refuses it, and nobody is to join that one. ls.mu
// is held.
func (ls *lists) begin(dir string, read *Call[*List]) *Call[*List] {
	ls.reads[dir] = &sharedList{underWay: read}
	read.Send(ls.client)
	if ls.client.Closed() {
		delete(ls.reads, dir)
	}
	return read
}

// listed begins the list that was asked for while one was under way.
func (ls *lists) listed(dir string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	shared := ls.reads[dir]
	if shared == nil {
		return
	}
	delete(ls.reads, dir)
	if shared.next != nil {
		ls.begin(dir, shared.next)
	}
}
