package zklock

import (
	"context"
	"fmt"
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
	timer   *time.Timer

	mu     sync.Mutex
	since  time.Time // of the call, or since it left the queue
	queued bool      // it stands in the queue
	step   string    // what it waits for otherwise
	err    error     // of its last try
}

// stallLimit is how long a call may get nowhere, at least.
const stallLimit = 10 * time.Second

// startWatchdog returns ctx with a watchdog over a call for the lock on path, until end is
// called. A call with a deadline has its error.
func (s *Session) startWatchdog(ctx context.Context, path string) (_ context.Context, end func()) {
	if _, limited := ctx.Deadline(); limited {
		return ctx, func() {}
	}
	v := &watchdog{Context: ctx, session: s, path: path, since: time.Now()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(v.patience(), v.look)
	return v, v.end
}

type watchdogKey struct{}

func (v *watchdog) Value(key any) any {
	if key == (watchdogKey{}) {
		return v
	}
	return v.Context.Value(key)
}

// note changes what is known of the call under ctx, if there is a watchdog over it.
func note(ctx context.Context, change func(*watchdog)) {
	if v, kept := ctx.Value(watchdogKey{}).(*watchdog); kept {
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
	note(ctx, func(v *watchdog) { v.queued, v.since, v.err = queued, time.Now(), nil })
}

func (v *watchdog) patience() time.Duration { return max(stallLimit, v.session.Timeout()) }

// look runs when the call may have been getting nowhere for long enough.
func (v *watchdog) look() {
	s := v.session
	s.mu.Lock()
	defer s.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	left := v.patience() - time.Since(v.since)
	switch {
	case v.timer == nil: // ended
	case v.queued:
		v.timer.Reset(v.patience())
	case left > 0:
		v.timer.Reset(left)
	case !v.tell():
		v.timer.Reset(v.patience())
	}
}

// tell logs what the call waits for, unless another one has told the same and has
// not got into the queue since. The session's mu and v's are held.
func (v *watchdog) tell() bool {
	s, about := v.session, v.path
	cause := fmt.Errorf("it waits for %s", v.step)
	if s.link == nil {
		about, cause = noConnection, fmt.Errorf("there is no connection: %w", s.failure)
	} else if v.err != nil {
		cause = fmt.Errorf("%w; the last try: %w", cause, v.err)
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
	v.mu.Lock()
	v.timer.Stop()
	v.timer = nil
	v.mu.Unlock()
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	if v.session.told[v.path] == v {
		delete(v.session.told, v.path)
	}
}
