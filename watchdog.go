package zklock

import (
	"context"
	"math"
	"sync"
	"time"
)

// watchdog watches over a call for a lock that may wait for ever. If the call does not
// get as far as the queue, it says so in the log, and why: whoever calls Lock has no
// error to look at. To stand in the queue is what a lock is for, and no matter for
// the log. It goes down to where the call waits as the call's ctx.
type watchdog struct {
	context.Context
	session *Session
	path    string

	mu     sync.Mutex
	since  time.Time // of the call, or since it left the queue
	queued bool      // it stands in the queue
	step   string    // what it waits for otherwise
	err    error     // of its last try
}

const (
	stallLimit  = 10 * time.Second      // how long a call may get nowhere, at least
	stallsPause = 50 * time.Millisecond // between looks at the calls, at least
)

// startWatchdog returns ctx with a watchdog over a call for the lock on path, until its
// end is called; nil over a call with a deadline, which has its error.
func (s *Session) startWatchdog(ctx context.Context, path string) (context.Context, *watchdog) {
	if _, limited := ctx.Deadline(); limited {
		return ctx, nil
	}
	v := &watchdog{Context: ctx, session: s, path: path, since: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched[v] = struct{}{}
	if s.stalls == nil && !s.closed {
		s.stalls = time.AfterFunc(s.stallPatience(), s.findStalls)
	}
	return v, v
}

// note changes what is known of the call under ctx, if there is a watchdog over it. It
// calls no method of ctx: it may run in the background, when the call is over.
func note(ctx context.Context, change func(*watchdog)) {
	if v, kept := ctx.(*watchdog); kept {
		v.mu.Lock()
		defer v.mu.Unlock()
		change(v)
	}
}

// waitsFor notes what the call under ctx needs next.
func waitsFor(ctx context.Context, step string) { note(ctx, func(v *watchdog) { v.step = step }) }

// failedTry notes why it has to try again.
func failedTry(ctx context.Context, err error) { note(ctx, func(v *watchdog) { v.err = err }) }

// queues notes whether it stands in the queue.
func queues(ctx context.Context, queued bool) {
	note(ctx, func(v *watchdog) {
		v.queued, v.err = queued, nil
		if !queued {
			v.since = time.Now()
		}
	})
}

func (s *Session) stallPatience() time.Duration { return max(stallLimit, s.Timeout()) }

// findStalls looks at the calls under way. One timer does for all of them: a lock that
// is to be had takes less time than it takes to set one.
func (s *Session) findStalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalls = nil
	next := time.Duration(math.MaxInt64)
	for v := range s.watched {
		if left := v.look(); left > 0 {
			next = min(next, left)
		} else {
			delete(s.watched, v) // it has been told
		}
	}
	if len(s.watched) > 0 && !s.closed {
		s.stalls = time.AfterFunc(max(next, stallsPause), s.findStalls)
	}
}

// look tells the call if it has been getting nowhere for long enough, and returns in how
// long to look again: not at all if it was told. The session's mu is held.
func (v *watchdog) look() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	patience := v.session.stallPatience()
	left := patience - time.Since(v.since)
	switch {
	case v.queued:
		return patience
	case left > 0:
		return left
	case !v.tell():
		return patience
	}
	return 0
}

// tell logs what the call waits for, unless another one has told the same and has
// not got into the queue since. The session's mu and v's are held.
func (v *watchdog) tell() bool {
	s, about, cause := v.session, v.path, any("it waits for "+v.step)
	if s.link == nil {
		about, cause = noConnection, because{"there is no connection", s.failure}
	} else if v.err != nil {
		cause = because{"it waits for " + v.step + "; the last try", v.err}
	}
	if other := s.told[about]; other != nil && !other.stands() {
		return false
	}
	s.told[about] = v
	s.log.Warn("zklock: a call for a lock gets nowhere", "path", v.path, "cause", cause)
	return true
}

// stands tells whether the call has got into the queue.
func (v *watchdog) stands() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.queued
}

// noConnection stands for a path in what has been told: no lock is to be had.
const noConnection = ""

// end is called when the call is over.
func (v *watchdog) end() {
	if v == nil {
		return
	}
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	delete(v.session.watched, v)
	if v.session.told[v.path] == v {
		delete(v.session.told, v.path)
	}
}
