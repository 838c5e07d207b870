package client

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// Subtree is a watch on all nodes at and below a path, which a server has from ZooKeeper 3.6 on. To
// the servers it is one watch, however many nodes there are, and no event ends it: only Link's end.
type Subtree struct {
	Link   *wire.Link
	client *Client
	path   string
	some   chan struct{} // has one while something has changed

	mu      sync.Mutex      // guards changed; nothing is locked under it
	changed map[string]bool // by path: whether the node has gone, after its last change
}

// subtrees are the watches of that kind which stand, or are being set.
type subtrees struct {
	mu  sync.Mutex // guards all, and the order of what is sent; the client's, the link's and a Subtree's are locked under it
	all map[*Subtree]struct{}

	unknown atomic.Bool // a server has said that it knows no such watch
}

// WatchSubtree sets a watch on all nodes at and below path, over the connection that stands. A server
// that does not know how answers wire.ErrUnimplemented, and ends the connection: it is asked once.
func (c *Client) WatchSubtree(ctx context.Context, path string) (*Subtree, error) {
	if c.subtrees.unknown.Load() {
		return nil, wire.ErrUnimplemented
	}
	set := wire.NewRequest(wire.AddSubtree(path))
	t := &Subtree{Link: c.Current(), client: c, path: path, some: make(chan struct{}, 1), changed: make(map[string]bool)}
	if t.Link == nil || c.Closed() {
		return nil, zk.ErrConnectionClosed
	}
	c.subtrees.add(t, set)
	err := Wait(ctx, set)
	switch {
	case LooksEnded(err):
		c.Leave(set)
		t.End()
	case err != nil:
		c.subtrees.unknown.Store(err == wire.ErrUnimplemented)
		c.subtrees.drop(t)
	default:
		return t, nil
	}
	return nil, err
}

func (ts *subtrees) add(t *Subtree, set *wire.Request) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.all == nil {
		ts.all = make(map[*Subtree]struct{})
	}
	ts.all[t] = struct{}{}
	t.Link.Send(set)
}

func (ts *subtrees) drop(t *Subtree) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.all, t)
}

// End removes the watch, unless it is somebody else's too.
func (t *Subtree) End() {
	ts := &t.client.subtrees
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.all, t)
	for other := range ts.all {
		if other.path == t.path && other.Link == t.Link {
			return
		}
	}
	t.Link.Send(wire.NewRequest(wire.RemoveSubtree(t.path)))
}

// note takes an event, which may be of another watch of the session: it is of a change all the same.
func (ts *subtrees) note(event zk.Event) {
	switch event.Type {
	case zk.EventNodeCreated, zk.EventNodeDeleted, zk.EventNodeDataChanged:
	default:
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.all {
		if event.Path == t.path || t.path == "/" || strings.HasPrefix(event.Path, t.path+"/") {
			t.note(event.Path, event.Type == zk.EventNodeDeleted)
		}
	}
}

func (t *Subtree) note(path string, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[path] = gone
	select {
	case t.some <- struct{}{}:
	default:
	}
}

// Some returns a channel that has something while there is a change that was not taken.
func (t *Subtree) Some() <-chan struct{} { return t.some }

// Take returns the nodes that were created, deleted or written since the last time, and of each whether it
// has gone. Those of which a list tells that was answered before this are in it.
func (t *Subtree) Take() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.changed
	t.changed = make(map[string]bool)
	return changed
}
