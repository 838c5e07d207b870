package zklock

import (
	"time"

	"github.com/zklock/zklock/internal/callback"
)

// history is what the trace is told of a hold, as it happened and one at a time,
// once the hold was told to have begun; nil without a trace.
type history struct {
	trace *Trace
	info  TraceInfo

	cut time.Time // since when the hold is suspended; guarded by the session's mu

	events callback.Serial // as the trace is told of them
}

// newHistory begins the history of c's next hold, of which nothing is told before
// begin is called.
func newHistory(c *contender) *history {
	if c.queue.trace == nil {
		return nil
	}
	return &history{
		trace: c.queue.trace, events: callback.Serial{Taken: true},
		info: TraceInfo{Path: c.queue.path, Node: c.node, Token: c.token, Since: time.Now()},
	}
}

// begin tells that the call got the lock, and what has happened since.
func (h *history) begin(call TraceInfo) {
	defer h.tell()
	h.info.Context = call.Context
	if h.trace.Acquired != nil {
		info := h.info
		info.Time, info.Since = h.info.Since, call.Since
		h.trace.Acquired(info)
	}
}

// These note what happened, and tell whether the caller has to see to it that tell
// is called.

func (h *history) released() bool { return h != nil && h.note(h.trace.Released, h.info.Since, nil) }

func (h *history) lost(cause error) bool {
	return h != nil && h.note(h.trace.Lost, h.info.Since, cause)
}

// suspended is quiet about a hold that is suspended since another connection.
func (h *history) suspended() bool {
	if h == nil || !h.cut.IsZero() {
		return false
	}
	h.cut = time.Now()
	return h.note(h.trace.Suspended, h.info.Since, nil)
}

// resumed is quiet about a hold that was not suspended, but granted meanwhile.
func (h *history) resumed() bool {
	if h == nil || h.cut.IsZero() {
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

// tell tells all that was noted.
func (h *history) tell() { h.events.Run() }
