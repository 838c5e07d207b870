package client

import (
	"sync"
	"time"

	"github.com/zklock/zklock/internal/callback"
	"github.com/zklock/zklock/internal/wire"
)

// Event is what a Trace is told of: see zklock.SessionTraceInfo.
type Event struct {
	Session    int64
	Server     string
	Connection int
	Time       time.Time
	Since      time.Time
	Err        error
}

// Trace are functions of the user that are told of a session's connections; any may be nil.
type Trace struct{ Connected, Disconnected, LeaseOver, Expired func(Event) }

// tracer calls a Trace, for one event after the other as they happened. What notes them is
// called under the client's mutex, which guards its fields too.
type tracer struct {
	Trace
	events callback.Serial
	told   *sync.WaitGroup // of what tells them

	connection   Event     // the last one
	connected    bool      // it stands
	disconnected time.Time // when there was none any more
	began        time.Time // the ZooKeeper session
	closed       bool
}

func (t *tracer) connect(l *wire.Link) {
	t.disconnect(errReplaced)
	now := time.Now()
	if t.connection.Session != l.ID {
		t.began = now
	}
	t.connection = Event{Session: l.ID, Server: l.Server, Connection: t.connection.Connection + 1, Time: now}
	t.connected = true
	e := t.connection
	e.Since = t.disconnected
	t.note(t.Connected, e)
}

func (t *tracer) disconnect(cause error) {
	if !t.connected {
		return
	}
	t.note(t.Disconnected, t.ended(cause))
}

// ended ends the connection.
func (t *tracer) ended(cause error) Event {
	e := t.connection
	t.connected, t.disconnected = false, time.Now()
	e.Since, e.Time, e.Err = e.Time, t.disconnected, cause
	return e
}

// LeaseOver tells the trace that the lease of that ZooKeeper session is over, which a server has
// confirmed last at since.
func (c *Client) LeaseOver(session int64, since time.Time, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.trace
	t.note(t.LeaseOver, Event{Session: session, Connection: t.connection.Connection, Time: time.Now(), Since: since, Err: cause})
}

// expire takes the end of a session, whose Connected was told unless no connection of it stood.
func (t *tracer) expire(session int64) {
	if session != t.connection.Session {
		return
	}
	t.note(t.Expired, Event{Session: session, Connection: t.connection.Connection, Time: time.Now(), Since: t.began, Err: ErrSessionOver})
}

func (t *tracer) note(tell func(Event), e Event) {
	if tell != nil && !t.closed && t.events.Add(func() { tell(e) }) {
		t.told.Go(t.events.Run)
	}
}

// close notes that the session is closed, and nothing after that. It returns what tells all
// that is left to be told.
func (t *tracer) close() (tell func()) {
	tell = func() {}
	if disconnected := t.Disconnected; !t.closed && t.connected && disconnected != nil {
		e := t.ended(ErrClosed)
		if t.events.Add(func() { disconnected(e) }) {
			tell = t.events.Run
		}
	}
	t.closed = true
	return tell
}
