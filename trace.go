package zklock

import (
	"context"
	"time"
)

// Trace is a set of functions that a lock calls as it goes, as
// net/http/httptrace.ClientTrace is for requests. Any of them may be nil. They
// are called from several goroutines, some of them on the lock's own path:
// they must be quick, and must neither call back into the lock nor close the
// session.
//
// A call for the lock is told in this order, by the goroutine that made it:
//
//	Enqueued, again each time that the place in the queue was lost, or never
//	Acquired or Failed, once
//
// Enqueued is missing where the call needs no place of its own: after a refusal
// without a write (TryLock), where it shares one ([WithHandoff], [WithRetention]),
// and for the reader of a downgrade. A hold that began with Acquired goes on with
//
//	Suspended and Resumed, in turns
//	Released or Lost, once
//
// in this order and one at a time, from any goroutine. What is told of two holds
// is in no order: the next one's Acquired may come before the last one's Released.
//
// A call that gets the lock while this process has an owner that lost it, and has
// not unlocked yet, waits for that owner with a hold of its own. If that is Lost,
// the call is told from Enqueued on once more; if the call ends, it is told both
// Released and Failed, and so is a try that meets such an owner.
//
// A function that panics, or ends its goroutine by runtime.Goexit, keeps nothing from
// being done. Enqueued, Acquired and Failed are run by the goroutine of the call,
// which panics with them: its place in the queue is left, or the lock given back and
// told as Released. Nothing more is told of that call. Released is run by the
// goroutine that gives the lock back or closes the session, unless another function
// is being told of the hold then; the lock goes on, and the session is closed, all
// the same. The others are run by goroutines of the session, where a panic ends the
// process, or by the call's behind Acquired.
//
// A call that does not get as far as the lock is not told: one whose context has
// ended before, one of the lock's owner, one that is [ErrUpgrade], and TryLock
// while there is no connection.
type Trace struct {
	// Enqueued: the lock node was created; the wait for the lock begins.
	Enqueued func(TraceInfo)
	// Acquired: the lock is held.
	Acquired func(TraceInfo)
	// Failed: the call ends without the lock, with Err: its context ended, it was
	// a try and the lock is taken, a server refused it, or the session was closed.
	Failed func(TraceInfo)
	// Released: the owner gave the lock back; the delete is under way.
	Released func(TraceInfo)
	// Suspended: the connection is lost while the lock is held. The hold goes on,
	// and is lost if no server confirms the session in time.
	Suspended func(TraceInfo)
	// Resumed: a server has confirmed the session again.
	Resumed func(TraceInfo)
	// Lost: the hold ended without its owner's release.
	Lost func(TraceInfo)
}

// TraceInfo says what a Trace function is called about.
type TraceInfo struct {
	Path  string    // of the lock
	Node  string    // full path of the lock node, or of a place in a semaphore's line; "" if Failed without one
	Token int64     // the node's czxid; of a hold, its fencing token
	Time  time.Time // when it happened
	Err   error     // Failed, Lost: why; what a call returns wraps it

	// Since is when that began which Time ends or interrupts: the call, for
	// Enqueued, Acquired and Failed; the suspension, for Resumed; the hold, for
	// the others. A hold begins at the Time of its Acquired.
	Since time.Time

	// Ahead is how many had to go before the one that was Enqueued, or -1 if no
	// list of the queue came with its node, as when others of its session are in
	// line.
	Ahead int

	// Context is that of the call that asked for the lock, for its values. It may
	// have ended.
	Context context.Context
}

// attempt is one call for the lock, as the trace is told of it; nil without one.
type attempt struct {
	trace *Trace
	info  TraceInfo
}

// attempt begins a call under ctx.
func (q *queue) attempt(ctx context.Context) *attempt {
	if q.trace == nil {
		return nil
	}
	return &attempt{q.trace, TraceInfo{Path: q.path, Context: ctx, Since: time.Now()}}
}

// enqueued tells that c stands in the queue, which view showed if it is not nil.
func (a *attempt) enqueued(c *contender, view *listing) {
	if a == nil {
		return
	}
	a.info.Node, a.info.Token = c.node, c.token
	if a.trace.Enqueued == nil {
		return
	}
	info := a.info
	info.Time, info.Ahead = time.Now(), -1
	if view != nil {
		if at, err := view.placeOf(c); err == nil {
			info.Ahead = at.Ahead
		}
	}
	a.trace.Enqueued(info)
}

// acquired tells that h has begun, and from then on its history. The turn of a
// semaphore has none, since it is not what the caller asked for. If the trace does
// not return, the caller never has h, which is given back.
func (a *attempt) acquired(h *Hold) {
	if h.history == nil {
		return
	}
	told := false
	defer func() {
		if !told {
			h.leave(nil)
		}
	}()
	h.history.begin(a.info)
	told = true
}

// failed tells of err, unless it is nil, and returns it.
func (a *attempt) failed(err error) error {
	if a != nil && err != nil && a.trace.Failed != nil {
		info := a.info
		info.Time, info.Err = time.Now(), err
		a.trace.Failed(info)
	}
	return err
}
