package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/wire"
)

// An epoch is a stretch of one ZooKeeper session within which whatever is held
// stays held. Every contender belongs to one and ends with it.
// There are two reasons for an end: the session did, or the lease.
type epoch struct {
	id int64 // of its ZooKeeper session
	lease.Lease

	// Guarded by the session's mu.
	suspended bool // no connection since the last proof, and something is held
}

// anySession makes await take whatever session there is.
const anySession = 0

var (
	// errSessionOver says that the ZooKeeper session asked for is no more, and
	// its nodes with it.
	errSessionOver = errors.New("zklock: the ZooKeeper session has ended")

	errNodeDeleted = errors.New("zklock: the lock node was deleted by someone else")
)

// await returns the current epoch and the connection that carries it, as soon as
// there is one of ZooKeeper session id. Its errors are ctx's, ErrClosed, and
// errSessionOver when another session has taken that one's place.
func (s *Session) await(ctx context.Context, id int64) (*epoch, *wire.Link, error) {
	for {
		s.mu.Lock()
		closed, current, ep, l, changed := s.closed, s.id, s.epoch, s.link, s.changed
		s.mu.Unlock()
		switch {
		case closed:
			return nil, nil, ErrClosed
		case id != anySession && current != id:
			return nil, nil, errSessionOver
		case ep != nil && l != nil:
			return ep, l, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ended(ctx)
		}
	}
}

// current returns the connection, nil while there is none.
func (s *Session) current() *wire.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// broadcast wakes everybody who waits for a change. s.mu is held.
func (s *Session) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// connected takes the answer to a connect request: id 0 says that the session has
// expired. It runs before the client hears of it, so that no reply of a new
// session is ever judged as one of the old.
func (s *Session) connected(l *wire.Link, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	// Some servers (ClickHouse Keeper) replace a session without saying that the
	// old one has expired: only the id tells.
	if l.ID != s.id {
		s.endEpoch(errSessionOver)
		s.shortest, s.unheard = timeout, lease.Unheard{}
	}
	s.unheard.Heard()
	s.id = l.ID
	if l.ID != 0 {
		s.timeout.Store(int64(timeout))
		if !latch.IsClosed(l.Down()) { // else it was given up as the answer came
			s.link, s.failure, s.relays = l, nil, lease.NewRelays(l.Asked)
			delete(s.told, noConnection)
		}
		if s.epoch == nil {
			s.epoch = &epoch{id: l.ID}
			s.log.Info("zklock: session established", "session", l.ID, "timeout", timeout)
		}
		if timeout < s.shortest {
			s.shortest = timeout
			s.epoch.Shorten(lease.GrantedEnd(l.Asked, timeout))
			s.look(s.clock.Now())
		}
		for _, c := range s.live {
			if c.hold != nil || c.turn != nil {
				// The watches have gone with the connection before. A proof goes ahead of
				// the next, however many they are.
				c.guardLater()
			}
		}
	}
	s.broadcast()
}

// endEpoch ends whatever is held or waiting. s.mu is held.
func (s *Session) endEpoch(cause error) {
	if s.epoch == nil {
		return
	}
	ep := s.epoch
	s.log.Warn("zklock: session lost", "session", ep.id, "cause", cause)
	s.epoch = nil
	s.stopLooking()
	// Of many, the last is to be told in time too.
	var rest []func()
	for _, c := range s.live {
		if c.epoch == ep {
			rest = append(rest, c.lose(cause))
		}
	}
	for _, f := range rest {
		f()
	}
}

// disconnected takes the end of a connection.
func (s *Session) disconnected(l *wire.Link, cause error) {
	hungUp := hungUp(cause) // which calls methods of a user's error
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l {
		if s.link == nil && !s.closed {
			s.failure = cause
		}
		return
	}
	s.link = nil
	s.failure = cause
	if hungUp {
		s.doubtContainers(l, cause)
	}
	for _, w := range s.watches {
		w.fire(false)
	}
	clear(s.watches)
	if s.epoch != nil {
		s.epoch.suspended = s.tellHolders((*history).suspended)
	}
	s.broadcast()
}

// tellHolders notes an event in the history of every hold, and tells whether there
// is one. s.mu is held.
func (s *Session) tellHolders(note func(*history) bool) (held bool) {
	for _, c := range s.live {
		if c.hold != nil && c.hold.Err() == nil {
			held = true
			if note(c.hold.history) {
				s.spawnLocked(c.hold.history.tell)
			}
		}
	}
	return held
}

// failed notes why there is no session yet, for Connect's error.
func (s *Session) failed(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = cause
}

func (s *Session) lastFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}
