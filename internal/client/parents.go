package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// The parents of locks are containers, which the server removes when they have been left empty.
// A server that does not know them may hang up on who asks for one, with a word or without, and
// so cost everybody in the session the connection. It is asked twice, since a connection may be
// lost by chance, and then no more.

// containers is what a client knows of its servers' containers.
type containers struct {
	client *Client
	asking chan struct{} // has a value while the first one is asked for

	mu    sync.Mutex // guards the fields below; a link's and the log's are locked under it
	state containerState
	asked int // requests for one that are under way
}

type containerState int

const (
	untried containerState = iota
	served                 // the newest request for one was answered
	doubted                // a server hung up on it, or erred; the next will tell
	refused                // parents are made persistent
)

func (cs *containers) init(c *Client, persistent bool) {
	cs.client, cs.asking = c, make(chan struct{}, 1)
	if persistent {
		cs.state = refused
	}
}

func (cs *containers) are(state containerState) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.state == state
}

// DoubtsContainers reports whether who asks for a container again may lose the connection once
// more.
func (c *Client) DoubtsContainers() bool { return c.containers.are(doubted) }

// Parents are a path that a call has found missing, from when that is being made. A server
// removes a container that has become empty, and keeps one that never had a child: a call that
// ends without a node there leaves the path.
type Parents struct {
	client  *Client
	dir     string
	version int32           // of the last of them, unless somebody has written to it; -1 if that is of no matter
	made    *Call[struct{}] // nil if the path was there
	ours    string          // the last of them if it was made here, once made is done
	stale   bool            // a server was found that lacks the path: see Confirm
}

// Parents returns those of nodes in dir. Any version says that what is written there is no
// reason to keep them.
func (c *Client) Parents(dir string, version int32) *Parents {
	return &Parents{client: c, dir: dir, version: version}
}

// Make creates dir and what is missing above it. When ctx ends it goes on in the background,
// until it is known whether there are containers. Who has it made twice, and it was there, may be
// connected to a server that lacks it: that is a wire.Stale.
func (p *Parents) Make(ctx context.Context, acl []zk.ACL) error {
	WaitsFor(ctx, "the parents to be made")
	c := p.client
	create := func(dir string) error {
		if err := c.Fits(CreateSize(dir, nil, acl)); err != nil {
			return err
		}
		err := c.containers.makeParent(dir, acl)
		switch {
		case err == nil:
			p.ours = dir
		case errors.Is(err, zk.ErrNodeExists):
			p.ours = ""
		}
		return err
	}
	again := p.made != nil
	p.made = Send(c, func() (struct{}, error) {
		err := c.Persist(c.ctx, func() error {
			err := makeParents(p.dir, create)
			FailedTry(ctx, err)
			return err
		})
		if err == nil && again && p.ours == "" {
			err = c.Confirm(p.dir)
			p.stale = err != nil
		}
		return struct{}{}, err
	})
	_, err := p.made.Wait(ctx)
	return err
}

// Confirm returns a wire.Stale while the session is connected to a server that lacks the path, as
// Make has found: a node that it creates there stays, though it is told that there is none.
func (p *Parents) Confirm(ctx context.Context) error {
	if !p.stale {
		return nil
	}
	return p.client.ConfirmUnder(ctx, func() error { return p.client.Confirm(p.dir) })
}

// Leave deletes the last of the path that was made here, in the background, if nobody is there
// and nobody has written anything to it; those above it have had a child, which it was.
func (p *Parents) Leave() {
	c, made := p.client, p.made
	if made == nil {
		return
	}
	c.CleanUp(func() {
		<-made.Done
		if p.ours == "" {
			return
		}
		_ = c.Persist(c.ctx, func() error {
			err := c.Conn.Delete(p.ours, p.version)
			if errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
				return nil
			}
			return err
		})
	})
}

// mostMakes bounds how often a node is made at once that goes again before it has a child.
const mostMakes = 3

// makeParents creates dir and what is missing above it, by create.
func makeParents(dir string, create func(dir string) error) error {
	for try := 1; ; try++ {
		err := create(dir)
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode) || dir == "/" || try > mostMakes:
			return err
		}
		if err := makeParents(path.Dir(dir), create); err != nil {
			return err
		}
	}
}

func (cs *containers) makeParent(dir string, acl []zk.ACL) error {
	err := cs.make(dir, acl)
	if Refused(err) {
		_, err = cs.client.Conn.Create(dir, nil, zk.FlagPersistent, acl)
	}
	return err
}

// errNoContainers says that it is known that there are no containers.
var errNoContainers = fmt.Errorf("no containers: %w", zk.ErrAPIError)

// make asks for a container. Before a server has answered one that asks, the others wait: what
// is queued behind it would cost the next connection.
func (cs *containers) make(dir string, acl []zk.ACL) error {
	if cs.are(served) {
		return cs.ask(dir, acl)
	}
	select {
	case cs.asking <- struct{}{}:
	case <-cs.client.ctx.Done():
		return ErrClosed
	}
	switch {
	case cs.are(refused):
		<-cs.asking
		return errNoContainers
	case cs.are(served): // so that nobody need wait any more
		<-cs.asking
	default:
		defer func() { <-cs.asking }()
	}
	return cs.ask(dir, acl)
}

func (cs *containers) ask(dir string, acl []zk.ACL) error {
	cs.mu.Lock()
	cs.asked++
	cs.mu.Unlock()
	_, err := cs.client.Conn.CreateContainer(dir, nil, zk.FlagContainer, acl)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.asked--
	switch {
	case Unimplemented(err):
		cs.refuse(err)
	case cs.state == refused:
	case err == nil, errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode), Refused(err):
		cs.state = served
	case Mishap(err):
		cs.suspect(because{"the request for one has failed twice", err})
	}
	return err
}

// doubt takes the end of a connection by a server that hung up, perhaps for the sake of a
// request for a container that it has not answered.
func (cs *containers) doubt(l *wire.Link, cause error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.state == refused || !l.Awaits(wire.OpCreateContainer):
	case cs.asked == 0: // the request was made over Conn
	default:
		cs.suspect(because{"the connection was lost twice on the request for one", cause})
	}
}

// suspect takes what may be chance, once. cs.mu is held.
func (cs *containers) suspect(cause error) {
	if cs.state == doubted {
		cs.refuse(cause)
	} else {
		cs.state = doubted
	}
}

// hungUp reports whether it was the server that ended the connection: we have not, and it was
// not silent.
func hungUp(cause error) bool {
	var late net.Error
	return !errors.Is(cause, net.ErrClosed) && !IsStale(cause) && !(errors.As(cause, &late) && late.Timeout())
}

// refuse has parents made persistent from now on. cs.mu is held.
func (cs *containers) refuse(cause error) {
	if cs.state != refused {
		cs.client.Log.Warn("zklock: the servers have no containers, parents are made persistent", "cause", cause)
	}
	cs.state = refused
}
