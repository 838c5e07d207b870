package client

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Watchdog watches over a call for a lock that may wait for ever. If the call does not get as
// far as the queue, it says so in the log, and why: whoever calls Lock has no error to look at.
// To stand in the queue is what a lock is for, and no matter for the log. It goes down to where
// the call waits as the call's ctx.
type Watchdog struct {
	context.Context
	client *Client
	path   string

	mu     sync.Mutex    // guards the fields below; the client's and the log's are locked under it
	since  clock.Instant // of the call, or since it got into the queue or left it
	queued bool          // it stands in the queue
	step   string        // what it waits for otherwise
	err    error         // of its last try
}

const (
	stallLimit  = 10 * time.Second      // how long a call may get nowhere, at least
	stallsPause = 50 * time.Millisecond // between looks at the calls, at least
)

// stalls are the calls under way that may wait for ever. One timer does for all of them: a lock
// that is to be had takes less time than it takes to set one.
type stalls struct {
	client *Client

	mu      sync.Mutex // guards the fields below; a Watchdog's, and then the client's, are locked under it
	calls   map[*Watchdog]struct{}
	told    map[string]*Watchdog // by path: the calls whose waiting is in the log
	timer   *time.Timer          // runs find while there are any
	stopped bool
}

func (st *stalls) init(c *Client) {
	st.client, st.calls, st.told = c, make(map[*Watchdog]struct{}), make(map[string]*Watchdog)
}

// stop stops the timer for good.
func (st *stalls) stop() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.stopped = true
	if st.timer != nil {
		st.timer.Stop()
	}
}

// connected has the next lack of a connection told again.
func (st *stalls) connected() {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.told, noConnection)
}

// WatchOver returns ctx with a watchdog over a call for the lock on path, until its End is
// called; nil over a call with a deadline, which has its error, and one that has a watchdog.
func (c *Client) WatchOver(ctx context.Context, path string) (context.Context, *Watchdog) {
	_, limited := ctx.Deadline()
	if _, kept := ctx.(*Watchdog); limited || kept {
		return ctx, nil
	}
	return c.WatchOverAll(ctx, path)
}

// WatchOverAll is WatchOver for a call that others wait for, who may have no deadline.
func (c *Client) WatchOverAll(ctx context.Context, path string) (context.Context, *Watchdog) {
	v := &Watchdog{Context: ctx, client: c, path: path, since: c.Clock.Now()}
	st := &c.stalls
	st.mu.Lock()
	defer st.mu.Unlock()
	st.calls[v] = struct{}{}
	if st.timer == nil && !st.stopped {
		st.timer = time.AfterFunc(st.patience(), st.find)
	}
	return v, v
}

// note changes what is known of the call under ctx, if there is a Watchdog over it. It calls no
// method of ctx: it may run in the background, when the call is over.
func note(ctx context.Context, change func(*Watchdog)) {
	if v, kept := ctx.(*Watchdog); kept {
		v.mu.Lock()
		defer v.mu.Unlock()
		change(v)
	}
}

// WaitsFor notes what the call under ctx needs next.
func WaitsFor(ctx context.Context, step string) { note(ctx, func(v *Watchdog) { v.step = step }) }

// FailedTry notes why it has to try again.
func FailedTry(ctx context.Context, err error) { note(ctx, func(v *Watchdog) { v.err = err }) }

// Queues notes whether it stands in the queue.
func Queues(ctx context.Context, queued bool) {
	note(ctx, func(v *Watchdog) {
		v.queued, v.since, v.err = queued, v.client.Clock.Now(), nil
	})
}

func (st *stalls) patience() time.Duration { return max(stallLimit, st.client.Timeout()) }

// find looks at the calls under way.
func (st *stalls) find() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.timer = nil
	next := time.Duration(math.MaxInt64)
	for v := range st.calls {
		if left := v.look(st); left > 0 {
			next = min(next, left)
		} else {
			delete(st.calls, v) // it has been told
		}
	}
	if len(st.calls) > 0 && !st.stopped {
		st.timer = time.AfterFunc(max(next, stallsPause), st.find)
	}
}

// look tells the call if it has been getting nowhere for long enough, and returns in how long
// to look again: not at all if it was told. The mutex of stalls is held.
func (v *Watchdog) look(st *stalls) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	patience := st.patience()
	left := patience - st.client.Pulse.Ran(v.since)
	switch {
	case v.queued:
		return patience
	case left > 0:
		return left
	case !v.tell(st):
		return patience
	}
	return 0
}

// tell logs what the call waits for, unless another one has told the same and has not got into
// the queue since. The mutex of stalls and v's are held.
func (v *Watchdog) tell(st *stalls) bool {
	about, cause := v.path, "it waits for "+v.step
	if st.client.Current() == nil {
		about, cause = noConnection, fmt.Sprintf("there is no connection: %v", st.client.lastFailure())
	} else if v.err != nil {
		cause += fmt.Sprintf("; the last try: %v", v.err)
	}
	if other := st.told[about]; other != nil && !other.stands() {
		return false
	}
	st.told[about] = v
	st.client.Log.Warn("zklock: a call for a lock gets nowhere", "path", v.path, "cause", cause)
	return true
}

// stands reports whether the call has got into the queue.
func (v *Watchdog) stands() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.queued
}

// noConnection stands for a path in what has been told: no lock is to be had.
const noConnection = ""

// End is called when the call is over.
func (v *Watchdog) End() {
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
