package zklock

import (
	"encoding/binary"
	"sync"
)

// Operation codes of the wire protocol that the library looks for.
const (
	opCreate       = 1
	opDelete       = 2
	opSync         = 9
	opMulti        = 14
	opSetAuth      = 100
	opCloseSession = -11
)

// Transaction ids that are not a request's.
const (
	xidEvent = -1
	xidPing  = -2
)

// frameHead is as much of a frame as anything here needs: its length, then a
// reply's xid, zxid and error code, or, in the answer to a connect, protocol
// version, timeout and session id.
const frameHead = 4 + 16

// frameReader finds the heads of the frames in a stream that somebody else reads.
type frameReader struct {
	head   [frameHead]byte
	filled int
	body   int // bytes still to pass before the next frame
}

// feed takes the next bytes of the stream and calls onHead for each head that
// they complete.
func (r *frameReader) feed(p []byte, onHead func(head []byte)) {
	for len(p) > 0 {
		if r.body > 0 {
			n := min(r.body, len(p))
			r.body -= n
			p = p[n:]
			continue
		}
		n := copy(r.head[r.filled:], p)
		r.filled += n
		p = p[n:]
		if r.filled == frameHead {
			length := int(binary.BigEndian.Uint32(r.head[:]))
			r.filled, r.body = 0, 4+length-frameHead
			onHead(r.head[:])
		}
	}
}

// between tells whether the stream stands at the border of two frames.
func (r *frameReader) between() bool { return r.filled == 0 && r.body == 0 }

// A tap follows one request through the wire: go-zookeeper tells neither when
// its frame went out, nor on which connection, nor the zxid of its reply.
type tap struct {
	key  tapKey
	sent func() // called when the frame has been written, or writing it failed
	next *tap   // of the same key

	mu      sync.Mutex
	link    *link // the connection that it was written to, nil while unsent
	replied bool
	zxid    int64
}

// fate returns the connection that carried the request (nil: none), whether a
// reply to it was read there, and that reply's zxid.
func (t *tap) fate() (l *link, replied bool, zxid int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.link, t.replied, t.zxid
}

func (t *tap) reply(zxid int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replied, t.zxid = true, zxid
}

// taps are the requests that wait to be seen on their way out.
type taps struct {
	mu      sync.Mutex
	waiting map[tapKey]*tap
}

// tapKey recognises a request by its operation and the path that its body begins
// with, or, of a multi, by those of its first operation.
type tapKey struct {
	op    int32
	path  string
	multi bool
}

// add makes the next frame of that kind report to the tap, and call sent, which
// must not block, as soon as it has gone out.
func (ts *taps) add(key tapKey, sent func()) *tap {
	t := &tap{key: key, sent: sent}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.waiting == nil {
		ts.waiting = make(map[tapKey]*tap)
	}
	last := ts.waiting[key]
	if last == nil {
		ts.waiting[key] = t
		return t
	}
	for last.next != nil {
		last = last.next
	}
	last.next = t
	return t
}

// drop forgets a tap whose request has ended.
func (ts *taps) drop(t *tap) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	first := ts.waiting[t.key]
	if first == t {
		ts.shift(t)
		return
	}
	for ; first != nil; first = first.next {
		if first.next == t {
			first.next = t.next
			return
		}
	}
}

// shift takes the first tap of its key out.
func (ts *taps) shift(first *tap) {
	if first.next != nil {
		ts.waiting[first.key] = first.next
		return
	}
	delete(ts.waiting, first.key)
}

// take returns the tap that waits for this request frame, if any.
func (ts *taps) take(frame []byte) *tap {
	const opAt, bodyAt, multiHeader = 8, 12, 9
	if len(frame) < bodyAt {
		return nil
	}
	op, body := int32(binary.BigEndian.Uint32(frame[opAt:])), frame[bodyAt:]
	multi := op == opMulti && len(body) > multiHeader
	if multi {
		op, body = int32(binary.BigEndian.Uint32(body)), body[multiHeader:]
	}
	var path []byte
	if len(body) >= 4 {
		if n := int(binary.BigEndian.Uint32(body)); n <= len(body)-4 {
			path = body[4 : 4+n]
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.waiting[tapKey{op, string(path), multi}]
	if t != nil {
		ts.shift(t)
	}
	return t
}
