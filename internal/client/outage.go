package client

import (
	"sync"
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/wire"
)

// outage is a time in which no server serves the session: there is no connection, or none that
// gets beyond the login. The log is told when it has lasted, Connect's soonest, and when that one
// is over.
type outage struct {
	client *Client

	mu    sync.Mutex    // guards the fields below; the client's and the log's are locked under it
	since clock.Instant // zero while there is none
	first bool          // it is Connect's, whose end is told as the session's beginning
	told  bool
}

// connectPatience is after what time of Connect's an outage is told: whoever waits for it has nothing
// else to look at.
const connectPatience = 2 * time.Second

// begin begins an outage, unless there is one: Connect's, or of a session that had a server.
func (o *outage) begin(first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since, o.first, o.told = o.client.Clock.Now(), first, false
	}
}

// look tells of an outage that has lasted. A connection that serves nobody yet is left to log in.
func (o *outage) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	patience := o.client.patience()
	if o.first {
		patience = connectPatience
	}
	if !o.since.IsZero() && !o.told && o.client.Current() == nil && o.client.Pulse.Ran(o.since) >= patience {
		o.told = true
		o.client.Log.Warn("zklock: no connection", "session", Hex(o.client.ID()),
			"lasted", o.lasted(), "cause", o.client.lastFailure())
	}
}

// end ends the outage, since a server has served a request over l.
func (o *outage) end(l *wire.Link) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || latch.IsClosed(l.Down()) {
		return
	}
	if o.told && !o.first {
		o.client.Log.Info("zklock: connected again", "session", Hex(l.ID), "server", l.Server, "lasted", o.lasted())
	}
	o.since = clock.Instant{}
}

// lasted returns how long it lasts. o.mu is held.
func (o *outage) lasted() time.Duration { return o.client.Clock.Now().Least(o.since) }
