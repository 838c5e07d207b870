package zktest

import (
	"slices"
	"time"
)

// tracker counts the sessions down. Only the leader has one; a new leader starts one with every countdown at its
// beginning, each session with the timeout it was created with.
type tracker struct {
	srv      *Server
	sessions map[int64]*countdown
	timer    *time.Timer
	armed    time.Time
}

type countdown struct {
	ends    time.Time // on a boundary of the tick
	closing bool
	owner   *Server // where the session is connected; requests by another server are refused
}

func newTracker(s *Server) *tracker {
	t := &tracker{srv: s, sessions: make(map[int64]*countdown)}
	for id, timeout := range s.sessions {
		t.track(id, timeout, nil)
	}
	return t
}

func (t *tracker) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// now is the leader's clock, which faults may set ahead.
func (t *tracker) now() time.Time { return time.Now().Add(t.srv.skew) }

func (t *tracker) track(id int64, timeout time.Duration, owner *Server) {
	if t.sessions[id] == nil {
		t.sessions[id] = &countdown{}
	}
	if owner != nil {
		t.sessions[id].owner = owner
	}
	t.touch(id, timeout)
}

// touch starts the countdown afresh with the timeout of the connection that showed life. The end is rounded up to the
// next tick, and is always later than now + timeout (ExpiryQueue.roundToNextInterval).
func (t *tracker) touch(id int64, timeout time.Duration) bool {
	c := t.sessions[id]
	if c == nil || c.closing {
		return false
	}
	tick, origin := t.srv.e.tick, t.srv.e.origin
	ticks := t.now().Add(timeout).Sub(origin)/tick + 1
	c.ends = origin.Add(ticks * tick)
	t.arm(c.ends)
	return true
}

func (t *tracker) check(id int64, owner *Server) code {
	c := t.sessions[id]
	if c == nil || c.closing {
		return sessionExpired
	}
	if c.owner == nil {
		c.owner = owner
	}
	if c.owner != owner {
		return sessionMoved
	}
	return ok
}

// close refuses further requests of the session; its end is being decided.
func (t *tracker) close(id int64) {
	if c := t.sessions[id]; c != nil {
		c.closing = true
	}
}

// arm makes sure the timer fires by then. It may fire early, when the countdown it was set for has been restarted.
func (t *tracker) arm(then time.Time) {
	if t.timer != nil {
		if !t.armed.After(then) {
			return
		}
		t.timer.Stop()
	}
	t.armed = then
	t.timer = t.srv.e.after(then.Sub(t.now()), t.expire)
}

// expire ends the sessions whose time is over. A frozen leader expires nobody; it catches up when it thaws.
func (t *tracker) expire() {
	t.stop()
	t.timer = nil
	l := t.srv.leader
	if t.srv.frozen || l == nil || l.tracker != t {
		return
	}
	var over []int64
	var next time.Time
	for id, c := range t.sessions {
		switch {
		case c.closing:
		case !c.ends.After(t.now()):
			over = append(over, id)
		case next.IsZero() || c.ends.Before(next):
			next = c.ends
		}
	}
	slices.Sort(over)
	for _, id := range over {
		l.expire(id)
	}
	if !next.IsZero() {
		t.arm(next)
	}
}

// move touches a session that reconnects, and makes the server it came to its owner.
func (t *tracker) move(id int64, timeout time.Duration, owner *Server) bool {
	if !t.touch(id, timeout) {
		return false
	}
	t.sessions[id].owner = owner
	return true
}

// age brings the end of a session nearer by d, and returns how far it is.
func (t *tracker) age(id int64, d time.Duration) (left time.Duration) {
	c := t.sessions[id]
	if c == nil || c.closing {
		return 0
	}
	c.ends = c.ends.Add(-d)
	t.arm(c.ends)
	return max(c.ends.Sub(t.now()), 0)
}
