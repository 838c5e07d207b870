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

	mu      sync.Mutex    // guards the fields below; the client's and the log's are locked under it
	since   clock.Instant // zero while there is none
	first   bool          // it is Connect's, whose end is told as the session's beginning
	told    bool
	timer   *time.Timer // runs tell
	stopped bool
}

// connectPatience is after what time of Connect's an outage is told: whoever waits for it has nothing
// else to look at.
const connectPatience = 2 * time.Second

// loginPause is how long a connection that serves nobody yet is left to log in.
const loginPause = time.Second

// begin begins an outage, unless there is one: Connect's, or of a session that had a server.
func (o *outage) begin(first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped || !o.since.IsZero() {
		return
	}
	o.since, o.first, o.told = o.client.Clock.Now(), first, false
	o.timer = time.AfterFunc(o.patience(), o.tell)
}

// patience is after what time an outage is told. o.mu is held.
func (o *outage) patience() time.Duration {
	if o.first {
		return connectPatience
	}
	return o.client.stalls.patience()
}

// tell tells of an outage that has lasted.
func (o *outage) tell() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.stopped || o.since.IsZero():
	case o.client.Current() != nil:
		o.timer = time.AfterFunc(loginPause, o.tell)
	case o.client.Pulse.Ran(o.since) < o.patience(): // nobody has tried for so long
		o.timer = time.AfterFunc(o.patience()-o.client.Pulse.Ran(o.since), o.tell)
	default:
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
	o.timer.Stop()
	if o.told && !o.first {
		o.client.Log.Info("zklock: connected again", "session", Hex(l.ID), "server", l.Server, "lasted", o.lasted())
	}
	o.since = clock.Instant{}
}

// lasted returns how long it lasts. o.mu is held.
func (o *outage) lasted() time.Duration { return o.client.Clock.Now().Least(o.since) }

// stop has nothing told any more.
func (o *outage) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	if o.timer != nil {
		o.timer.Stop()
	}
}
