package zklock

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/wire"
)

// The parents of locks are containers, which the server removes when they have been
// left empty. A server that does not know them may hang up on who asks for one, with
// a word or without, and so cost everybody in the session the connection. It is asked
// twice, since a connection may be lost by chance, and then no more.

// containers is what a session knows of its servers' containers.
type containers int

const (
	containersUntried containers = iota
	containersServed             // the newest request for one was answered
	containersDoubted            // a server hung up on it; the next will tell
	containersRefused            // parents are made persistent
)

func init() {
	client.MakeSessionParents = func(session any, dir string, acl []zk.ACL) (leave func(), err error) {
		s := session.(*Session)
		p := &parents{session: s, dir: dir}
		return p.leave, p.make(s.ctx, acl)
	}
}

// parents are a path that a call has found missing, from when that is being made. A
// server removes a container that has become empty, and keeps one that never had a
// child: a call that ends without a node there leaves the path.
type parents struct {
	session *Session
	dir     string
	made    *pending[struct{}] // nil if the path was there
	ours    string             // the last of them if it was made here, once made is done
	version int32              // of that, unless somebody has written to it; -1 if that is of no matter
}

// make creates dir and what is missing above it. When ctx ends it goes on in the
// background, until it is known whether there are containers.
func (p *parents) make(ctx context.Context, acl []zk.ACL) error {
	waitsFor(ctx, "the parents to be made")
	s := p.session
	create := func(dir string) error {
		err := s.makeParent(dir, acl)
		switch {
		case err == nil:
			p.ours = dir
		case errors.Is(err, zk.ErrNodeExists):
			p.ours = ""
		}
		return err
	}
	p.made = send(s, func() (struct{}, error) {
		return struct{}{}, s.persist(s.ctx, func() error {
			err := client.MakeParents(p.dir, create)
			failedTry(ctx, err)
			return err
		})
	})
	_, err := p.made.wait(ctx)
	return err
}

// leave deletes the last of the path that was made here, in the background, if nobody is
// there and nobody has written anything to it; those above it have had a child, which
// it was.
func (p *parents) leave() {
	s, made := p.session, p.made
	if made == nil {
		return
	}
	s.cleanUp(func() {
		<-made.done
		if p.ours == "" {
			return
		}
		_ = s.persist(s.ctx, func() error {
			err := s.conn.Delete(p.ours, p.version)
			if errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
				return nil
			}
			return err
		})
	})
}

func (s *Session) makeParent(dir string, acl []zk.ACL) error {
	err := s.makeContainer(dir, acl)
	if client.Refused(err) {
		_, err = s.conn.Create(dir, nil, zk.FlagPersistent, acl)
	}
	return err
}

// errNoContainers says that it is known that there are no containers.
var errNoContainers = fmt.Errorf("no containers: %w", zk.ErrAPIError)

// makeContainer asks for a container. Before a server has answered one that asks,
// the others wait: what is queued behind it would cost the next connection.
func (s *Session) makeContainer(dir string, acl []zk.ACL) error {
	if s.containersAre(containersServed) {
		return s.askForContainer(dir, acl)
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-s.ctx.Done():
		return ErrClosed
	}
	if s.containersAre(containersRefused) {
		return errNoContainers
	}
	return s.askForContainer(dir, acl)
}

func (s *Session) containersAre(state containers) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.containers == state
}

func (s *Session) askForContainer(dir string, acl []zk.ACL) error {
	s.mu.Lock()
	s.containersAsked++
	s.mu.Unlock()
	_, err := s.conn.CreateContainer(dir, nil, zk.FlagContainer, acl)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.containersAsked--
	switch {
	case client.Unimplemented(err):
		s.refuseContainers(err)
	case s.containers == containersRefused:
	case err == nil, errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode), client.Refused(err):
		s.containers = containersServed
	}
	return err
}

// doubtContainers takes the end of a connection that carried a request for a
// container without an answer, by a server that hung up, perhaps for the request's
// sake. s.mu is held.
func (s *Session) doubtContainers(l *wire.Link, cause error) {
	switch {
	case s.containers == containersRefused || !l.Awaits(wire.OpCreateContainer):
	case s.containersAsked == 0: // the request was made over Conn
	case s.containers == containersDoubted:
		s.refuseContainers(because{"the connection was lost twice on the request for one", cause})
	default:
		s.containers = containersDoubted
	}
}

// hungUp reports whether it was the server that ended the connection: we have not, and
// it was not silent.
func hungUp(cause error) bool {
	var late net.Error
	return !errors.Is(cause, net.ErrClosed) && !(errors.As(cause, &late) && late.Timeout())
}

// refuseContainers has parents made persistent from now on. s.mu is held.
func (s *Session) refuseContainers(cause error) {
	if s.containers != containersRefused {
		s.log.Warn("zklock: the servers have no containers, parents are made persistent", "cause", cause)
	}
	s.containers = containersRefused
}
