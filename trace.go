package zklock

import "time"

// Trace is a set of functions that a lock calls as it goes, as
// net/http/httptrace.ClientTrace is for requests. Any of them may be nil. They
// are called from several goroutines, some of them on the lock's own path:
// they must be quick, and must not call back into the lock.
type Trace struct {
	// Enqueued: the lock node was created; the wait for the lock begins.
	Enqueued func(TraceInfo)
	// Acquired: the lock is held.
	Acquired func(TraceInfo)
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
	Node  string    // full path of the lock node
	Token int64     // the node's czxid, the fencing token of a hold
	Time  time.Time // when it happened
	Err   error     // Lost: why
}

func (t *Trace) call(f func(TraceInfo), c *contender, err error) {
	if f != nil {
		f(TraceInfo{Path: c.queue.dir, Node: c.node, Token: c.token, Time: time.Now(), Err: err})
	}
}

func (t *Trace) enqueued(c *contender)          { t.call(t.Enqueued, c, nil) }
func (t *Trace) acquired(c *contender)          { t.call(t.Acquired, c, nil) }
func (t *Trace) released(c *contender)          { t.call(t.Released, c, nil) }
func (t *Trace) suspended(c *contender)         { t.call(t.Suspended, c, nil) }
func (t *Trace) resumed(c *contender)           { t.call(t.Resumed, c, nil) }
func (t *Trace) lost(c *contender, cause error) { t.call(t.Lost, c, cause) }
