package client

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// Send sends requests over the connection that stands. Without one they fail.
func (c *Client) Send(requests ...*wire.Request) {
	switch l := c.Current(); {
	case c.Closed():
		failAll(requests, ErrClosed)
	case l == nil:
		failAll(requests, zk.ErrConnectionClosed)
	default:
		l.Send(requests...)
	}
}

func failAll(requests []*wire.Request, err error) {
	for _, r := range requests {
		r.Fail(err)
	}
}

// Ask sends a request and returns its error, or ctx's if that ends first: then the request counts among
// what calls have left behind.
func (c *Client) Ask(ctx context.Context, r *wire.Request) error {
	c.Send(r)
	err := Wait(ctx, r)
	if LooksEnded(err) {
		c.Leave(r)
	}
	return err
}

// Wait returns the error of a request that was sent, or ctx's if that ends first.
func Wait(ctx context.Context, r *wire.Request) error {
	select {
	case <-r.Done():
		return r.Err()
	case <-ctx.Done():
		return Ended(ctx)
	}
}

// Leave counts a request whose call waits for the answer no more among what calls have left
// behind: see MakeRoom.
func (c *Client) Leave(r *wire.Request) { c.CleanUp(func() { <-r.Done() }) }

// Work is what goes on in the background though its call ends.
type Work struct {
	done chan struct{}
	err  error
}

// Background has f done in the background, until the client is closed.
func (c *Client) Background(f func() error) *Work {
	w := &Work{done: make(chan struct{}), err: ErrClosed}
	if !c.Spawn(func() {
		defer close(w.done)
		w.err = f()
	}) {
		close(w.done)
	}
	return w
}

// Done returns a channel that is closed when the work is done. Err may be called then.
func (w *Work) Done() <-chan struct{} { return w.done }

// Err returns the work's error.
func (w *Work) Err() error { return w.err }

// Leave counts work whose call waits for it no more among what calls have left behind: see MakeRoom.
func (w *Work) Leave(c *Client) { c.CleanUp(func() { <-w.done }) }

// Wait returns the error of the work, or ctx's if that ends first.
func (w *Work) Wait(ctx context.Context) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return Ended(ctx)
	}
}

// Content is what a node says.
type Content struct {
	Data []byte
	Stat *zk.Stat
}

// ContentOf returns what the answer to a read says.
func ContentOf(r *wire.Request) (Content, error) {
	data, stat, err := r.Data()
	return Content{data, stat}, err
}

// Read is the request for what a node says.
func Read(path string) *wire.Request {
	return wire.NewRequest(wire.Op{Code: wire.OpGetData, Path: path})
}

// Check is the operation that fails if there is no such node.
func Check(path string) wire.Op { return wire.Op{Code: wire.OpCheck, Path: path, Version: -1} }

// Delete is the operation that deletes a node, whatever its version.
func Delete(path string) wire.Op { return wire.Op{Code: wire.OpDelete, Path: path, Version: -1} }
