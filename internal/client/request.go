package client

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/latch"
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
	_, err := c.WaitOrLeave(ctx, r)
	return err
}

// Transact asks for operations of which the server carries out all or none. It returns the first
// error of one of them, or Ask's.
func (c *Client) Transact(ctx context.Context, ops ...wire.Op) error {
	r := wire.NewTransaction(ops...)
	if err := c.Ask(ctx, r); err != nil {
		return err
	}
	_, err := r.Results()
	return err
}

// Pending is what a call may wait for, or leave: a request that was sent, or Work. Once Done is closed Err
// may be called.
type Pending interface {
	Done() <-chan struct{}
	Err() error
}

// Wait returns the error of p, or ctx's if that ends first: ErrClosed of the client's own. Nothing but Done
// may be asked of p then.
func Wait(ctx context.Context, p Pending) error {
	select {
	case <-p.Done():
		return p.Err()
	case <-ctx.Done():
		return Ended(ctx)
	}
}

// WaitOrLeave is Wait that leaves p if ctx ends first: then p is not over, and nothing may be asked of it.
func (c *Client) WaitOrLeave(ctx context.Context, p Pending) (over bool, err error) {
	err = Wait(ctx, p)
	if over = latch.IsClosed(p.Done()); !over {
		c.Leave(p)
	}
	return over, err
}

// Leave counts what a call waits for no more among what calls have left behind: see MakeRoom.
func (c *Client) Leave(p Pending) { c.CleanUp(func() { <-p.Done() }) }

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

// Done returns a channel that is closed when the work is done.
func (w *Work) Done() <-chan struct{} { return w.done }

// Err returns the work's error.
func (w *Work) Err() error { return w.err }

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
