package client

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/wire"
)

// Call is a request. Its value and error stand once Done is closed.
type Call[T any] struct {
	Done  chan struct{}
	Value T
	Err   error

	request func() (T, error)
	begun   atomic.Bool
}

// Later returns a call that has yet to be sent.
func Later[T any](request func() (T, error)) *Call[T] {
	return &Call[T]{request: request, Done: make(chan struct{})}
}

// Send runs request in a goroutine of its own, since go-zookeeper's calls take no context and
// may block until Close.
func Send[T any](c *Client, request func() (T, error)) *Call[T] {
	call := Later(request)
	call.Send(c)
	return call
}

// Send does nothing the second time.
func (call *Call[T]) Send(c *Client) {
	if call.begun.Swap(true) {
		return
	}
	if !c.Spawn(call.fulfil) {
		call.Err = ErrClosed
		close(call.Done)
	}
}

func (call *Call[T]) fulfil() {
	call.Value, call.Err = call.request()
	close(call.Done)
}

// SendUnder is Send for a caller that waits at once, until done. Without an end to be prompt at
// it needs no goroutine.
func SendUnder[T any](done <-chan struct{}, c *Client, request func() (T, error)) *Call[T] {
	if done != nil {
		return Send(c, request)
	}
	call := &Call[T]{Done: latch.Closed, Err: ErrClosed}
	if c.Begin() {
		defer c.End()
		call.Value, call.Err = request()
	}
	return call
}

// Wait returns what the request came to, or ctx's error if that ends first.
func (call *Call[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-call.Done:
		return call.Value, call.Err
	case <-ctx.Done():
		var none T
		return none, Ended(ctx)
	}
}

// WaitOn is Wait for a request that is of no use when that connection is down.
func (call *Call[T]) WaitOn(ctx context.Context, l *wire.Link) (T, error) {
	select {
	case <-call.Done:
		return call.Value, call.Err
	case <-l.Down():
		var none T
		return none, zk.ErrConnectionClosed
	case <-ctx.Done():
		var none T
		return none, Ended(ctx)
	}
}

// Leave counts a request whose call waits for the answer no more among what calls have left
// behind: see MakeRoom.
func (call *Call[T]) Leave(c *Client) { c.CleanUp(func() { <-call.Done }) }

// Content is what a node says.
type Content struct {
	Data []byte
	Stat *zk.Stat
}

// Children lists the children of a node.
func (c *Client) Children(path string) *Call[[]string] {
	return Send(c, func() ([]string, error) {
		names, _, err := c.Conn.Children(path)
		return names, err
	})
}
