package client

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/wire"
)

// AnySession makes Await take whatever session there is.
const AnySession = 0

// Await returns the connection, as soon as there is one that carries that ZooKeeper session.
// Its errors are ctx's, ErrClosed, and ErrSessionOver when another session has taken that one's
// place.
func (c *Client) Await(ctx context.Context, id int64) (*wire.Link, error) {
	return c.AwaitUnless(ctx, id, nil)
}

// AwaitUnless is Await that returns ErrClosed, too, when refused is closed before there is a connection.
func (c *Client) AwaitUnless(ctx context.Context, id int64, refused <-chan struct{}) (*wire.Link, error) {
	return c.await(ctx, id, refused, func(error) bool { return false })
}

// await is AwaitUnless that returns what the last attempt to connect has failed with, if that is final.
func (c *Client) await(ctx context.Context, id int64, refused <-chan struct{}, final func(failure error) bool) (*wire.Link, error) {
	for {
		c.mu.Lock()
		current, l, changed, failure := c.id, c.link, c.changed, c.failure
		c.mu.Unlock()
		switch {
		case c.Closed():
			return nil, ErrClosed
		case id != AnySession && current != id:
			return nil, ErrSessionOver
		case l != nil:
			return l, nil
		case final(failure):
			return nil, failure
		}
		select {
		case <-changed:
		case <-refused:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, Ended(ctx)
		}
	}
}

// Current returns the connection, nil while there is none.
func (c *Client) Current() *wire.Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// Changed returns a channel that is closed when the connection has changed.
func (c *Client) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// ID returns the ZooKeeper session's id, 0 while there is none because the last one has
// expired.
func (c *Client) ID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Timeout returns the session timeout as negotiated last, or as asked for before that.
func (c *Client) Timeout() time.Duration { return time.Duration(c.timeout.Load()) }

// broadcast wakes everybody who waits for a change. c.mu is held.
func (c *Client) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// lastFailure returns why the last attempt to connect, or to log in, has failed; nil if a server
// serves the session, or if the cause is not known.
func (c *Client) lastFailure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// The client is its connections' wire.Session.

func (c *Client) Left() (timeout, left time.Duration) { return c.observer.Left() }

func (c *Client) Asks(at clock.Instant) { c.observer.Asks(at) }

// Connected tells the observer before anybody has the connection, so that no reply of a new
// session is ever judged as one of the old.
func (c *Client) Connected(l *wire.Link, timeout time.Duration) {
	if c.Closed() {
		return
	}
	if l.ID == 0 {
		c.observer.Connected(l, timeout)
		c.publish(nil, 0)
		return
	}
	c.timeout.Store(int64(timeout))
	c.observer.Connected(l, timeout)
	if !c.publish(l, l.ID) {
		c.observer.Disconnected(l)
	}
}

// publish gives everybody the connection, if there is one and it was not given up as the answer
// came. It reports whether it does.
func (c *Client) publish(l *wire.Link, id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.broadcast()
	if c.id != 0 && c.id != id {
		c.trace.expire(c.id)
	}
	c.id = id
	if l == nil || latch.IsClosed(l.Down()) {
		return false
	}
	c.link = l
	if c.stale != nil && c.stale.Server != l.Name() {
		c.stale = nil
	}
	c.trace.connect(l)
	if c.failure != wire.ErrRefused { // of that the login has yet to come
		c.failure = nil
	}
	return true
}

// Disconnected tells the observer when nobody is given the connection any more.
func (c *Client) Disconnected(l *wire.Link, cause error) {
	byServer := hungUp(cause) // which calls methods of a user's error
	if !c.retract(l, cause) {
		return
	}
	c.frames.ended(l, byServer, c.Log)
	c.outage.begin(false)
	c.watches.disconnect(l, c.dialer.Told())
	c.observer.Disconnected(l)
}

// retract reports whether l was the connection that everybody had.
func (c *Client) retract(l *wire.Link, cause error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.link == l
	if had {
		c.link = nil
		c.trace.disconnect(cause)
		c.broadcast()
	}
	if c.link == nil {
		c.failure = cause
	}
	return had
}

// Served ends what kept the session from being served.
func (c *Client) Served(l *wire.Link) {
	c.outage.end(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l {
		c.failure = nil
	}
}

func (c *Client) Failed(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, is := cause.(wire.Attempt); is && a.Err == nil {
		if isTold(c.failure) {
			return // a server that takes connections may do the same again
		}
	}
	c.failure = cause
	if _, is := cause.(wire.SASLError); is {
		c.broadcast() // Connect may have to end
	}
}

// isTold reports whether it was a server's doing that there is no connection.
func isTold(failure error) bool {
	switch failure.(type) {
	case wire.Attempt, wire.SASLError:
		return true
	}
	return failure == wire.ErrRefused
}

// notify takes go-zookeeper's events. It is called from its own goroutines, also under its
// locks, and so neither blocks nor calls it. The observer is told that a node is gone before
// who waits for that goes on.
func (c *Client) notify(event zk.Event) {
	c.subtrees.note(event)
	switch event.Type {
	case zk.EventNodeDeleted:
		c.observer.Deleted(event.Path)
		c.watches.fire(WatchKey{event.Path, false}, true)
		c.watches.fire(WatchKey{event.Path, true}, true)
	case zk.EventNodeDataChanged:
		c.watches.fire(WatchKey{event.Path, false}, false)
		c.observer.Changed(event.Path)
	case zk.EventNodeChildrenChanged:
		c.watches.fire(WatchKey{event.Path, true}, false)
	}
}
