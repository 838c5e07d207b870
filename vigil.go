package zklock

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// vigil watches over a call for a lock that may wait for ever. If the call does not
// get as far as the queue, it says so in the log, and why: whoever calls Lock has no
// error to look at. To stand in the queue is what a lock is for, and no matter for
// the log. It goes down to where the call waits as the call's ctx.
type vigil struct {
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

// vigilPatience is how long a call may get nowhere, at least.
const vigilPatience = 10 * time.Second

// keepVigil returns ctx with a vigil over a call for the lock on path, until end is
// called. A call with a deadline has its error.
func (s *Session) keepVigil(ctx context.Context, path string) (_ context.Context, end func()) {
	if _, limited := ctx.Deadline(); limited {
		return ctx, func() {}
	}
	v := &vigil{Context: ctx, session: s, path: path, since: time.Now()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(v.patience(), v.look)
	return v, v.end
}

type vigilKey struct{}

func (v *vigil) Value(key any) any {
	if key == (vigilKey{}) {
		return v
	}
	return v.Context.Value(key)
}

// note changes what is known of the call under ctx, if there is a vigil over it.
func note(ctx context.Context, change func(*vigil)) {
	if v, kept := ctx.Value(vigilKey{}).(*vigil); kept {
		v.mu.Lock()
		defer v.mu.Unlock()
		change(v)
	}
}

// waitsFor notes what the call under ctx needs next.
func waitsFor(ctx context.Context, step string) { note(ctx, func(v *vigil) { v.step = step }) }

// failedTry notes why it has to try again.
func failedTry(ctx context.Context, err error) { note(ctx, func(v *vigil) { v.err = err }) }

// queues notes whether it stands in the queue.
func queues(ctx context.Context, queued bool) {
	note(ctx, func(v *vigil) { v.queued, v.since, v.err = queued, time.Now(), nil })
}

func (v *vigil) patience() time.Duration { return max(vigilPatience, v.session.Timeout()) }

// look runs when the call may have been getting nowhere for long enough.
func (v *vigil) look() {
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

// tell logs what the call waits for, unless another one has told the same and waits
// still. The session's mu and v's are held.
func (v *vigil) tell() bool {
	s, about := v.session, v.path
	cause := fmt.Errorf("it waits for %s", v.step)
	if s.link == nil {
		about, cause = noConnection, fmt.Errorf("there is no connection: %w", s.failure)
	} else if v.err != nil {
		cause = fmt.Errorf("%w; the last try: %w", cause, v.err)
	}
	if s.told[about] != nil {
		return false
	}
	s.told[about] = v
	s.log.Warn("zklock: a call for a lock gets nowhere", "path", v.path, "cause", cause)
	return true
}

// noConnection stands for a path in what has been told: no lock is to be had.
const noConnection = ""

// end is called when the call is over.
func (v *vigil) end() {
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
