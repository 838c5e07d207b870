package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// StallLog watches over a call for a lock that may wait for ever. If the call does not get as
// far as the queue, it says so in the log, and why: whoever calls Lock has no error to look at.
// To stand in the queue is what a lock is for, and no matter for the log. It goes down to where
// the call waits as the call's ctx.
type StallLog struct {
	context.Context
	client *Client
	path   string

	mu     sync.Mutex    // guards the fields below; the client's is locked under it
	since  clock.Instant // of the call, or since it got into the queue or left it
	queued bool          // it stands in the queue
	step   string        // what it waits for otherwise
	err    error         // of its last try
}

// stallLimit is how long a call may get nowhere, or no server serve the session, at least.
const stallLimit = 10 * time.Second

// patience is how long a call may get nowhere, or no server serve the session.
func (c *Client) patience() time.Duration { return max(stallLimit, c.Timeout()) }

// stalls are the calls under way that may wait for ever.
type stalls struct {
	mu    sync.Mutex // guards the fields below; a StallLog's and the log's are locked under it
	calls map[*StallLog]struct{}
	told  map[string]*StallLog // by path: the calls whose waiting is in the log
}

// LogStalls returns ctx with the log of a call for the lock on path, until its End is
// called; nil of a call with a deadline, which has its error, and of one that has a log.
func (c *Client) LogStalls(ctx context.Context, path string) (context.Context, *StallLog) {
	_, limited := ctx.Deadline()
	if _, kept := ctx.(*StallLog); limited || kept {
		return ctx, nil
	}
	return c.LogStallsForAll(ctx, path)
}

// LogStallsForAll is LogStalls for a call that others wait for, who may have no deadline.
func (c *Client) LogStallsForAll(ctx context.Context, path string) (context.Context, *StallLog) {
	v := &StallLog{Context: ctx, client: c, path: path, since: c.Clock.Now()}
	st := &c.stalls
	st.mu.Lock()
	defer st.mu.Unlock()
	st.calls[v] = struct{}{}
	return v, v
}

// note changes what is known of the call under ctx, if there is a StallLog of it. It calls no
// method of ctx: it may run in the background, when the call is over.
func note(ctx context.Context, change func(*StallLog)) {
	if v, kept := ctx.(*StallLog); kept {
		v.mu.Lock()
		defer v.mu.Unlock()
		change(v)
	}
}

// WaitsFor notes what the call under ctx needs next.
func WaitsFor(ctx context.Context, step string) { note(ctx, func(v *StallLog) { v.step = step }) }

// FailedTry notes why it has to try again.
func FailedTry(ctx context.Context, err error) { note(ctx, func(v *StallLog) { v.err = err }) }

// Queues notes whether it stands in the queue.
func Queues(ctx context.Context, queued bool) {
	note(ctx, func(v *StallLog) {
		v.queued, v.since, v.err = queued, v.client.Clock.Now(), nil
	})
}

// noConnection stands for a path in what has been told: no lock is to be had.
const noConnection = ""

// lookForStalls tells of the calls that get nowhere, once of each, and of one for the same lock at a
// time; without a connection of one for all locks.
func (c *Client) lookForStalls() {
	c.outage.look()
	st, connected := &c.stalls, c.Current() != nil
	st.mu.Lock()
	defer st.mu.Unlock()
	if connected {
		delete(st.told, noConnection)
	}
	for v := range st.calls {
		about, cause := v.path, v.stalls()
		if !connected {
			about = noConnection
		}
		if cause != nil && !st.told[about].getsNowhere() {
			st.told[about] = v
			delete(st.calls, v)
			c.Log.Warn("zklock: a call for a lock gets nowhere", "path", v.path, "cause", cause)
		}
	}
}

// stalls returns why the call has been getting nowhere for long enough to be told, nil if it has not.
func (v *StallLog) stalls() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.queued, v.client.Pulse.Ran(v.since) < v.client.patience():
		return nil
	case v.client.Current() == nil:
		return stall{"there is no connection: ", v.client.lastFailure()}
	case v.err != nil:
		return stall{fmt.Sprintf("it waits for %s; the last try: ", v.step), v.err}
	}
	return errors.New("it waits for " + v.step)
}

// stall is why a call gets nowhere, with an error that may be a user's: of that a text is asked for
// where the log is written, under no mutex.
type stall struct {
	what  string
	cause error
}

func (s stall) Error() string { return fmt.Sprint(s.what, s.cause) }

// getsNowhere reports whether the call, if there is one, has not got into the queue.
func (v *StallLog) getsNowhere() bool {
	if v == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.queued
}

// End is called when the call is over.
func (v *StallLog) End() {
	if v == nil {
		return
	}
	st := &v.client.stalls
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.calls, v)
	if st.told[v.path] == v {
		delete(st.told, v.path)
	}
}
