package zklock

import (
	"time"

	"github.com/zklock/zklock/internal/client"
)

// SessionTrace is a set of functions that a session calls as its connections come and go, as
// [Trace] is for a lock. Any of them may be nil. They are called by goroutines of the session,
// as things happened and one at a time, and must be quick: [Session.Close] waits for them, and
// [Connect] that fails. They must not close the session.
//
// A session is told in this order:
//
//	Connected and Disconnected, in turns
//	LeaseOver, at any time, if no server has confirmed in time that the session lives
//	Expired, between a Disconnected and the next Connected, if the servers have ended the
//	ZooKeeper session meanwhile
//
// The last one is Disconnected, with [ErrClosed], unless there is no connection then: it is run
// by the goroutine that calls Session.Close, or one that Session.Shutdown starts, unless another
// function is being run.
//
// A function that panics ends the process; one that is run by Session.Close makes that panic,
// behind its end.
type SessionTrace struct {
	// Connected: a server has accepted the session on a new connection. Where it has to log in
	// ([WithAuth]), that may yet be refused, and Disconnected follows.
	Connected func(SessionTraceInfo)
	// Disconnected: the connection is lost, as Err says, or the session closed. The session
	// looks for another one. What it holds is lost if that takes too long: see [Trace].
	Disconnected func(SessionTraceInfo)
	// LeaseOver: no server has confirmed in time that the session lives, and what was held in it
	// is lost. The session itself may live: it is the same one if a server accepts it again. It
	// is told only if something was held, or next to be.
	LeaseOver func(SessionTraceInfo)
	// Expired: the servers have ended the ZooKeeper session, and what was held in it is lost. A
	// new one takes its place.
	Expired func(SessionTraceInfo)
}

// SessionTraceInfo says what a SessionTrace function is called about.
type SessionTraceInfo struct {
	Session    int64     // id of the ZooKeeper session
	Server     string    // address of the server; "" if LeaseOver or Expired
	Connection int       // how many connections there were, with this one: 1 is Connect's
	Time       time.Time // when it happened

	// Since is when that began which Time ends: the time without a connection, for Connected;
	// the connection, for Disconnected; the time without a confirmation, for LeaseOver; the
	// ZooKeeper session, for Expired.
	Since time.Time

	Err error // Disconnected, LeaseOver, Expired: why
}

// WithSessionTrace has trace's functions called as the session's connections come and go.
func WithSessionTrace(trace *SessionTrace) SessionOption {
	return func(o *sessionOptions) {
		o.Trace = client.Trace{}
		if trace != nil {
			o.Trace = client.Trace{
				Connected: tellOf(trace.Connected), Disconnected: tellOf(trace.Disconnected),
				LeaseOver: tellOf(trace.LeaseOver), Expired: tellOf(trace.Expired),
			}
		}
	}
}

func tellOf(tell func(SessionTraceInfo)) func(client.Event) {
	if tell == nil {
		return nil
	}
	return func(e client.Event) { tell(SessionTraceInfo(e)) }
}
