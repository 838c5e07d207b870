package zklock

import (
	"context"
	"time"

	"github.com/zklock/zklock/internal/callback"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/queue"
)

// Trace is a set of functions that a lock calls when something happens to it, as
// net/http/httptrace.ClientTrace is for requests. Any of them may be nil. They are called from
// several goroutines, some of them on the lock's own path: they must be quick, and must neither
// call back into the lock nor close the session.
//
// A call for the lock is told in this order, by the goroutine that made it:
//
//	Enqueued, again each time that the place in the queue was lost, or never
//	Acquired or Failed, once
//
// Enqueued is missing where the call needs no place of its own: after a refusal without a write
// (TryLock), where it shares one ([WithHandoff], [WithRetention]), and for the reader of a
// downgrade. A hold that began with Acquired goes on with
//
//	Suspended and Resumed, one after the other, as often as the connection is lost
//	Released or Lost, once
//
// in this order and one at a time, from any goroutine. The events of different holds are in no
// order: the next one's Acquired may come before the last one's Released.
//
// A goroutine of this process may have lost the lock and not have unlocked yet. A call that
// gets the lock then waits for that Unlock, with a hold of its own. If that hold is Lost, or one
// while Acquired is being told, the events of the call begin again with Enqueued; a downgrade is
// told Failed then. If the call ends meanwhile, Released and Failed are both told. A try that
// finds such an owner has no hold: of it Failed alone is told.
//
// If a function panics, or ends the goroutine of the call by runtime.Goexit, as testing.T.FailNow
// does, the lock's own work is still done. Enqueued, Acquired and Failed are run by the goroutine of the call, which panics with
// them: its place in the queue is left, or the lock is given back and Released is told; no
// further event of that call is told. Released is run by the goroutine that gives the lock back,
// unless another event of the hold is being told then; the lock goes to the next all the same. The
// others are run by goroutines of the
// session, where a panic ends the process, or by the call's goroutine after Acquired.
//
// Nothing is told of a call whose context has ended already, of one by the lock's owner, of one
// that returns [ErrUpgrade] and not [ErrDeadlock], and of TryLock while there is no connection;
// nor of a call with a nil function or a number of permits out of range, and of a [MultiLocker]'s
// that returns ErrDeadlock before it asks for a lock.
type Trace struct {
	// Enqueued: the lock node was created, or taken over from a caller that gave up
	// ([WithHandoff]); the wait for the lock begins.
	Enqueued func(TraceInfo)
	// Acquired: the lock is held.
	Acquired func(TraceInfo)
	// Failed: the call ends without the lock, with Err: its context ended, it was a try and the
	// lock is taken, a server refused it, or the session was closed; or, of a [MultiLocker]'s that
	// starts over, another of its locks was lost, as Err says.
	Failed func(TraceInfo)
	// Released: the owner gave the lock back; the delete is under way.
	Released func(TraceInfo)
	// Suspended: the connection is lost while the lock is held. The hold goes on, and is lost
	// if no server confirms the session in time.
	Suspended func(TraceInfo)
	// Resumed: a server has confirmed the session again.
	Resumed func(TraceInfo)
	// Lost: the hold ended without its owner's release, be it by Session.Close.
	Lost func(TraceInfo)
}

// TraceInfo says what a Trace function is called about.
type TraceInfo struct {
	Path  string    // of the lock
	Node  string    // full path of the lock node, or of a place in a semaphore's line; "" if Failed without one
	Token int64     // the node's czxid; of a hold, its fencing token, if none shares its node: see Hold.Token
	Time  time.Time // when it happened
	Err   error     // Failed, Lost: why; what a call returns wraps it

	// Since is when that began which Time ends or interrupts: the call, for Enqueued, Acquired
	// and Failed; the suspension, for Resumed; the hold, for the others. A hold begins at the
	// Time of its Acquired.
	Since time.Time

	// Ahead is how many had to go before the one that was Enqueued, or -1 if no list of the
	// queue came with its node, as when others of its session are in line.
	Ahead int

	// Context is that of the call that asked for the lock, or a child of it, for its values. It
	// may have ended.
	Context context.Context
}

// attempt is one call for the lock, as the trace is told of it; nil without one.
type attempt struct {
	trace *Trace
	info  TraceInfo
}

func newAttempt(ctx context.Context, trace *Trace, path string) *attempt {
	if trace == nil {
		return nil
	}
	return &attempt{trace, TraceInfo{Path: path, Context: ctx, Since: time.Now()}}
}

// Enqueued tells of a place in the queue.
func (a *attempt) Enqueued(node string, token int64, at queue.Enqueued) {
	if a == nil {
		return
	}
	a.info.Node, a.info.Token = node, token
	if a.trace.Enqueued == nil {
		return
	}
	info := a.info
	info.Time, info.Ahead = time.Now(), at.Ahead()
	a.trace.Enqueued(info)
}

// Acquired tells that h has begun, and from then on its history, which there is for a trace only.
func (a *attempt) Acquired(h *queue.Hold) { h.History().(*history).begin(a.info) }

// keep gets a hold that is still held when the call has been told of it: a function of the trace
// may take longer than the lease.
func (a *attempt) keep(ctx context.Context, get func(context.Context, queue.Call) (*queue.Hold, error)) (*queue.Hold, error) {
	for {
		h, err := get(ctx, a)
		if a == nil || err != nil || h.Valid() {
			return h, err
		}
		h.ReleaseUnused(nil)
		if ctx.Err() != nil {
			return nil, client.Ended(ctx)
		}
	}
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

// history is what the trace is told of a hold, as it happened and one at a time, once the hold
// was told to have begun. See queue.History.
type history struct {
	trace *Trace
	info  TraceInfo

	cut time.Time // since when the hold is suspended; guarded by the mutex that grants

	events callback.Serial // as the trace is told of them
}

// newHistory begins the history of the next hold of that node, of which nothing is told before
// begin is called.
func newHistory(trace *Trace, path, node string, token int64) *history {
	return &history{
		trace: trace, events: callback.Serial{Taken: true},
		info: TraceInfo{Path: path, Node: node, Token: token, Since: time.Now()},
	}
}

// begin tells that the call got the lock, and what has happened since.
func (h *history) begin(call TraceInfo) {
	defer h.Tell()
	h.info.Context = call.Context
	if h.trace.Acquired != nil {
		info := h.info
		info.Time, info.Since = h.info.Since, call.Since
		h.trace.Acquired(info)
	}
}

// These note what happened, and report whether the caller has to see to it that Tell is called.

func (h *history) Released() bool { return h.note(h.trace.Released, h.info.Since, nil) }

func (h *history) Lost(cause error) bool {
	return h.note(h.trace.Lost, h.info.Since, cause)
}

// Suspended is quiet about a hold that is suspended since another connection.
func (h *history) Suspended() bool {
	if !h.cut.IsZero() {
		return false
	}
	h.cut = time.Now()
	return h.note(h.trace.Suspended, h.info.Since, nil)
}

// Resumed is quiet about a hold that was not suspended, but granted meanwhile.
func (h *history) Resumed() bool {
	if h.cut.IsZero() {
		return false
	}
	since := h.cut
	h.cut = time.Time{}
	return h.note(h.trace.Resumed, since, nil)
}

func (h *history) note(tell func(TraceInfo), since time.Time, err error) bool {
	if tell == nil {
		return false
	}
	now := time.Now()
	return h.events.Add(func() {
		info := h.info
		info.Time, info.Since, info.Err = now, since, err
		tell(info)
	})
}

// Tell tells all that was noted.
func (h *history) Tell() { h.events.Run() }
