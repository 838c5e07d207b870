package zktest

import (
	"slices"
	"strings"
)

// Fault is something that shall happen to the next request that it meets. Of several that could meet the same request,
// the one set up first does.
type Fault struct {
	_       noCopy
	e       *Ensemble
	kind    faultKind
	op      Op
	path    string
	session int64
	client  *Client
	server  *Server
	code    code // with which to refuse
	held    *lane
	struck  chan struct{}
	over    bool
}

type faultKind int

const (
	dropRequest faultKind = iota
	dropReply
	holdRequest
	holdReply
	refuseRequest
)

// Filter narrows down which request a Fault meets.
type Filter func(*Fault)

// OnPath lets the fault meet requests only whose path, or a path in whose multi, starts with prefix.
func OnPath(prefix string) Filter { return func(f *Fault) { f.path = prefix } }

// OnSession lets the fault meet requests of that session only.
func OnSession(id int64) Filter { return func(f *Fault) { f.session = id } }

// OnClient lets the fault meet requests only that come from c.
func OnClient(c *Client) Filter { return func(f *Fault) { f.client = c } }

// OnServer lets the fault meet requests only that come in at s.
func OnServer(s *Server) Filter { return func(f *Fault) { f.server = s } }

// DropRequest loses the next request of that kind before it is executed, and cuts the connection.
func (e *Ensemble) DropRequest(op Op, filters ...Filter) *Fault {
	return e.fault(dropRequest, op, filters)
}

// DropReply executes the next request of that kind, loses the reply, and cuts the connection. Replies and events ahead
// of the lost one arrive.
func (e *Ensemble) DropReply(op Op, filters ...Filter) *Fault { return e.fault(dropReply, op, filters) }

// HoldRequest keeps the next request of that kind, and what follows it on the connection, on its way until Release. It
// is executed then even if the client has hung up, but not if the server has, and meets no other fault.
func (e *Ensemble) HoldRequest(op Op, filters ...Filter) *Fault {
	return e.fault(holdRequest, op, filters)
}

// HoldReply executes the next request of that kind, and keeps the reply and what follows it on its way until Release.
func (e *Ensemble) HoldReply(op Op, filters ...Filter) *Fault { return e.fault(holdReply, op, filters) }

// RefuseRequest answers the next request of that kind with an error code, one of KeeperException.Code as -127
// (THROTTLEDOP), and does not execute it. The answer goes out in its turn, the connection stays, and the session has been
// heard of. Handshakes (OpConnect) and credentials (OpAuth) are not refused so.
func (e *Ensemble) RefuseRequest(op Op, errorCode int32, filters ...Filter) *Fault {
	return e.fault(refuseRequest, op, append(filters, func(f *Fault) { f.code = code(errorCode) }))
}

// DropRequest is Ensemble.DropRequest for requests that come in at this server.
func (s *Server) DropRequest(op Op, filters ...Filter) *Fault {
	return s.e.DropRequest(op, append(filters, OnServer(s))...)
}

// DropReply is Ensemble.DropReply for requests that come in at this server.
func (s *Server) DropReply(op Op, filters ...Filter) *Fault {
	return s.e.DropReply(op, append(filters, OnServer(s))...)
}

// HoldRequest is Ensemble.HoldRequest for requests that come in at this server.
func (s *Server) HoldRequest(op Op, filters ...Filter) *Fault {
	return s.e.HoldRequest(op, append(filters, OnServer(s))...)
}

// HoldReply is Ensemble.HoldReply for requests that come in at this server.
func (s *Server) HoldReply(op Op, filters ...Filter) *Fault {
	return s.e.HoldReply(op, append(filters, OnServer(s))...)
}

// RefuseRequest is Ensemble.RefuseRequest for requests that come in at this server.
func (s *Server) RefuseRequest(op Op, errorCode int32, filters ...Filter) *Fault {
	return s.e.RefuseRequest(op, errorCode, append(filters, OnServer(s))...)
}

func (e *Ensemble) fault(kind faultKind, op Op, filters []Filter) *Fault {
	f := &Fault{e: e, kind: kind, op: op, struck: make(chan struct{})}
	for _, narrow := range filters {
		narrow(f)
	}
	e.do(func() { e.faults = append(e.faults, f) })
	return f
}

// Struck returns a channel that closes when the fault has met its request.
func (f *Fault) Struck() <-chan struct{} { return f.struck }

// Release lets go of what the fault holds, and calls it off if it has not struck yet.
func (f *Fault) Release() {
	f.e.do(func() {
		f.e.faults = slices.DeleteFunc(f.e.faults, func(other *Fault) bool { return other == f })
		f.over = true
		if f.held != nil {
			f.held.release()
			f.held = nil
		}
	})
}

func (f *Fault) meets(q *request) bool {
	return f.op == q.op &&
		(f.kind != refuseRequest || q.op != OpConnect && q.op != OpAuth) &&
		(f.session == 0 || f.session == q.session) &&
		(f.client == nil || f.client == q.conn.client) &&
		(f.server == nil || f.server == q.conn.srv) &&
		(strings.HasPrefix(q.path, f.path) ||
			slices.ContainsFunc(q.ops, func(r record) bool { return strings.HasPrefix(r.path, f.path) }))
}

// hold stops the lane until the fault is released.
func (f *Fault) hold(l *lane) {
	if !f.over {
		f.held = l
		l.holds++
	}
}

// struck applies the first fault that meets q, and reports whether the frame is dealt with. What is to happen to the
// reply is noted in q.
func (c *conn) struck(q *request, frame []byte) bool {
	if c.freed {
		return false
	}
	i := slices.IndexFunc(c.srv.e.faults, func(f *Fault) bool { return f.meets(q) })
	if i < 0 {
		return false
	}
	f := c.srv.e.faults[i]
	c.srv.e.faults = slices.Delete(c.srv.e.faults, i, i+1)
	close(f.struck)
	switch f.kind {
	case dropRequest:
		c.close()
		return true
	case holdRequest:
		f.hold(&c.in)
		c.in.unshift(func() {
			c.freed = true
			c.handle(frame)
			c.freed = false
		})
		return true
	}
	q.fault = f
	return false
}

// deliver sends the reply, unless a fault is waiting for it. A nil frame is a reply that ZooKeeper does not send.
func (c *conn) deliver(q *request, frame []byte) {
	switch {
	case q.fault == nil:
	case q.fault.kind == dropReply:
		c.shut()
		return
	case q.fault.kind == holdReply:
		c.out.push(0, func() { q.fault.hold(&c.out) })
	}
	if frame != nil {
		c.send(frame)
	}
}
