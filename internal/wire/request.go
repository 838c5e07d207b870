package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
)

// Request is what a lock asks of a server, over one connection: it is answered there or never.
// A request is sent once.
type Request struct {
	frame *[]byte  // until it is written
	op    int32    // which it is as a whole
	ops   int32    // how many operations it has
	asker Asker    // nil for most
	also  *Request // asks for the same, and has the same answer; nil for most

	written latch.Latch
	done    latch.Latch

	// Set by the link, and read once done is closed.
	link *Link         // that it was written to; nil if it was not
	sent clock.Instant // right before that
	err  error         // why there is no answer
	zxid int64         // of the answer; these are its fields
	body []byte
	code int32

	xid  int32
	size int32 // of the frame, in bytes, without its length
}

// Asker is told what its request has come to, ahead of whoever waits for that: there is an answer, or will
// be none. It is called where answers are read, and so must not block. Nobody else sees more of the
// answer than its error.
type Asker interface{ Answered(*Request) }

type asker func(*Request)

func (f asker) Answered(r *Request) { f(r) }

// Op is one operation: those fields are used that its code has.
type Op struct {
	Code    int32
	Flags   int32
	Version int32 // of the node; -1 for any
	Watch   bool
	Path    string
	Data    []byte
	ACL     []zk.ACL
}

// NewRequest returns a request for one operation.
func NewRequest(op Op) *Request { return new(Request).Of(op) }

// NewTransaction returns a request for operations of which a server carries out all or none.
func NewTransaction(ops ...Op) *Request { return new(Request).OfAll(ops...) }

// NewReads returns a request for reads of nodes' data, which a server may carry out one by one, in their
// order. A server before ZooKeeper 3.6 knows no such request.
func NewReads(ops ...Op) *Request {
	r := new(Request)
	r.encode(OpMultiRead, ops...)
	return r
}

// Of makes r, which has room in something else, NewRequest's.
func (r *Request) Of(op Op) *Request {
	r.encode(op.Code, op)
	return r
}

// OfAll makes r NewTransaction's.
func (r *Request) OfAll(ops ...Op) *Request {
	r.encode(OpMulti, ops...)
	return r
}

// For has a told what the request has come to. It returns r, which was not sent yet.
func (r *Request) For(a Asker) *Request {
	r.asker = a
	return r
}

// Then is For a function.
func (r *Request) Then(f func(*Request)) *Request { return r.For(asker(f)) }

// Is reports whether it is that operation.
func (r *Request) Is(op int32) bool { return r.op == op }

// Size returns how long the frame is, in bytes, without its length.
func (r *Request) Size() int { return int(r.size) }

// shows reports whether the request is a read that shows what other asks for.
func (r *Request) shows(other *Request) bool {
	return r.op == OpExists && bytes.Equal((*r.frame)[opcodeAt:], (*other.frame)[opcodeAt:]) && !r.watches()
}

// watches reports whether the request, an exists, sets a watch.
func (r *Request) watches() bool { return (*r.frame)[r.size+3] != 0 }

// keeps reports whether its answer is to last.
func (r *Request) keeps() bool { return r.asker == nil || r.also != nil }

// Written returns a channel that is closed when the request was written, or will never be.
func (r *Request) Written() <-chan struct{} { return r.written.Done() }

// Done returns a channel that is closed when the request was answered, or will not be.
func (r *Request) Done() <-chan struct{} { return r.done.Done() }

// Link returns the connection that the request was written to, nil if it was not. This and the
// following may be called once Done is closed.
func (r *Request) Link() *Link { return r.link }

// Answered reports whether there is an answer.
func (r *Request) Answered() bool { return r.err == nil }

// Zxid returns the transaction that the answer names: the last one that its server had applied,
// and of a write that was carried out its own.
func (r *Request) Zxid() int64 { return r.zxid }

// Err returns why there is no answer, or the error that the answer is.
func (r *Request) Err() error {
	if r.err != nil {
		return r.err
	}
	return errorOf(r.code)
}

// Fail ends a request that is not sent. It returns before its Asker has: the caller may have a mutex that
// this takes.
func (r *Request) Fail(err error) {
	if r.asker != nil {
		go r.fail(err)
	} else {
		r.fail(err)
	}
}

func (r *Request) fail(err error) {
	if r.also != nil {
		r.also.fail(err)
	}
	r.err = err
	r.written.Close()
	r.end()
}

// wrote takes that the request was written, or that nothing is any more.
func (r *Request) wrote() {
	for ; r != nil; r = r.also {
		r.written.Close()
	}
}

// answer takes the answer.
func (r *Request) answer(frame []byte) {
	if also := r.also; also != nil {
		also.link, also.sent, also.xid, also.size = r.link, r.sent, r.xid, r.size
		also.answer(frame)
	}
	r.zxid, r.code, r.body = int64(binary.BigEndian.Uint64(frame[zxidAt:])), codeOf(frame), frame[frameHead:]
	r.end()
}

func (r *Request) end() {
	if asker := r.asker; asker != nil {
		r.asker = nil // and with it what it may keep in memory
		asker.Answered(r)
		r.body = nil
	}
	r.done.Close()
}
