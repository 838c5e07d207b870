package membership

import (
	"context"
	"errors"
	"log/slog"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// State is how a member stands with ZooKeeper, as far as its process knows: while
// there is no connection, nothing new is known.
type State struct {
	Registered bool
	Session    int64 // that the node lives in; 0 if not registered
	// Registrations counts how often the member was registered: more than once says
	// that it was off the list for a while.
	Registrations int
	Err           error // why it is not registered
}

// registered notes that the node was seen in place.
func (m *Member) registered(g *sight) {
	m.change(func(s *State) (level slog.Level, message string) {
		if s.Registered && m.zxid == g.stat.Czxid {
			return 0, ""
		}
		m.zxid = g.stat.Czxid
		*s = State{Registered: true, Session: g.stat.EphemeralOwner, Registrations: s.Registrations + 1}
		return slog.LevelInfo, "membership: registered"
	})
}

// unregistered notes that the node is not in place, and why. Once that is known,
// only a refusal tells more.
func (m *Member) unregistered(cause error) {
	m.change(func(s *State) (level slog.Level, message string) {
		if s.Registrations == 0 || !s.Registered && (!client.Refused(cause) || errors.Is(cause, s.Err)) {
			return 0, ""
		}
		*s = State{Registrations: s.Registrations, Err: cause}
		return slog.LevelWarn, "membership: registration lost"
	})
}

// left notes that the node was deleted, and will not come again.
func (m *Member) left() {
	m.change(func(s *State) (level slog.Level, message string) {
		*s = State{Registrations: s.Registrations, Err: ErrLeft}
		return slog.LevelInfo, "membership: left"
	})
}

// closed returns what becomes of the state with the session's Close.
func (s State) closed() State {
	if s.Err == ErrLeft {
		return s
	}
	return State{Registrations: s.Registrations, Err: zklock.ErrClosed}
}

// sessionClosed notes that the server deletes the node, with its session.
func (m *Member) sessionClosed() {
	m.change(func(s *State) (level slog.Level, message string) {
		*s = s.closed()
		return slog.LevelInfo, "membership: session closed"
	})
}

// change lets edit change the state, and tells everybody if it gives a message. Of a
// member that was never registered, since its Join failed, nobody hears. Only the
// member's own goroutine calls it, and so the order is right.
func (m *Member) change(edit func(*State) (slog.Level, string)) {
	m.mu.Lock()
	level, message := edit(&m.state)
	state := m.state
	m.mu.Unlock()
	if message == "" || state.Registrations == 0 || !m.options.users {
		return // and no goroutine is begun, which Close would not wait for
	}
	attrs := []any{"node", client.Plainly(m.node), "session", client.Hex(state.Session), "registrations", state.Registrations}
	if state.Err != nil {
		attrs = append(attrs, "cause", client.Plainly(state.Err))
	}
	m.tell(func() { m.options.log.Log(context.Background(), level, message, attrs...) })
	m.tell(func() { m.options.notify(state) })
}

// tell has f called behind what it was given before, which is the user's and may take its
// time: neither the member's goroutine nor the session's Close waits for it.
func (m *Member) tell(f func()) {
	if m.news.Add(f) {
		go m.news.Run()
	}
}
