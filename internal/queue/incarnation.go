package queue

import (
	"cmp"
	"context"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
)

// An incarnation is a stretch of one ZooKeeper session within which whatever is held stays
// held. Every contender belongs to one and ends with it. There are two reasons for an end: the
// session did, or the lease.
type incarnation struct {
	id int64 // of its ZooKeeper session

	confirmed clock.Instant // when a proof of it was answered last; guarded by the session's mu
	suspended bool          // no connection since the last proof, and something is held; guarded by the session's mu
}

// await returns the current incarnation, as soon as there is a connection. Its errors are ctx's
// and client.ErrClosed, for which there need be none.
func (s *Session) await(ctx context.Context) (*incarnation, error) {
	for {
		changed, connected := s.client.Changed(), s.client.Current() != nil
		s.mu.Lock()
		inc, refused := s.incarnation, s.admission.Err() != nil
		s.mu.Unlock()
		switch {
		case refused:
			return nil, client.ErrClosed
		case connected && inc != nil: // the session has not expired since
			return inc, nil
		}
		select {
		case <-changed:
		case <-s.admission.Done():
		case <-ctx.Done():
			return nil, client.Ended(ctx)
		}
	}
}

// Connected takes the answer to a connect request: id 0 says that the session has expired. It
// runs before the client gives anybody the connection.
func (s *Session) Connected(l *wire.Link, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	// Some servers (ClickHouse Keeper) replace a session without saying that the old one has
	// expired: only the id tells.
	if l.ID != s.id {
		if s.incarnation != nil {
			s.client.Log.Warn("zklock: session expired", "session", client.Hex(s.id))
			s.endIncarnation(client.ErrSessionOver)
		}
		s.lease.Begin(cmp.Or(timeout, s.client.Timeout()))
		clear(s.spent) // it may be because the servers have lost their data, and czxids begin anew
	}
	s.id = l.ID
	if l.ID == 0 {
		return
	}
	s.link = l
	if s.incarnation == nil {
		s.incarnation = &incarnation{id: l.ID}
		s.client.Log.Info("zklock: session established", "session", client.Hex(l.ID), "server", l.Server, "timeout", timeout)
	}
	s.lease.Granted(l.Asked, timeout)
	s.look(s.client.Clock.Now())
	for _, c := range s.live {
		c.lingerLess() // the session may be another one
	}
	s.watchAgainLater()
}

// runs reports whether the lease runs for inc, whose holds are lost otherwise. s.mu is held.
func (s *Session) runs(inc *incarnation, now clock.Instant) bool {
	return s.incarnation == inc && s.lease.RunsAt(now)
}

// endIncarnation ends whatever is held or waiting. s.mu is held.
func (s *Session) endIncarnation(cause error) {
	s.incarnation = nil
	s.stopLooking()
	s.loseAll(cause)
}

// Disconnected takes the end of the connection.
func (s *Session) Disconnected(l *wire.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l {
		return
	}
	s.link = nil
	if s.incarnation != nil {
		s.incarnation.suspended = s.tellHolders(History.Suspended)
	}
}

// tellHolders notes an event in the history of every hold, and reports whether there is one.
// s.mu is held.
func (s *Session) tellHolders(note func(History) bool) (held bool) {
	for _, c := range s.live {
		if c.hold != nil && c.hold.Err() == nil {
			held = true
			if c.hold.history != nil && note(c.hold.history) {
				s.client.Tell(c.hold.history.Tell)
			}
		}
	}
	return held
}
