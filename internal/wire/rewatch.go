package wire

import (
	"encoding/binary"
	"sync"
)

// rewatch reads along how go-zookeeper sets its watches again over a new connection: it only
// logs it if that fails, and it names the last transaction that it has seen when it gets to it,
// which may be one of the new connection already. What changed before that, while there was no
// connection, is not told then.
type rewatch struct {
	mu         sync.Mutex // guards the fields below; nothing is locked under it
	connection int64      // counts those that carried a session
	unbroken   int64      // the oldest whose watches were set again over each one up to the last
	seen       int64      // the client's last transaction when it asked for the connection

	under  int32 // xid of the newest request
	more   bool  // another one may follow it
	failed bool  // one was refused, or came too late
	whole  bool  // the last one was confirmed
}

// asked takes the connect request.
func (r *rewatch) asked(frame []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = int64(binary.BigEndian.Uint64(lastSeen(frame)))
}

// connected notes that the connection carries a session.
func (r *rewatch) connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stands() {
		r.unbroken = r.connection
	}
	r.connection++
	r.under, r.failed, r.whole = xidEvent, false, false // an xid that no request has
}

// FullRequest is the length from which on another request may follow: go-zookeeper begins one
// when a path would make this one longer than 128 KiB. Assumed: no path that is watched is
// longer than the difference.
const FullRequest = 120 << 10

// sent takes a request to set watches again. The next one follows its answer.
func (r *rewatch) sent(frame []byte) {
	const seenAt = 4 + 8 // behind the length and the header
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under = int32(binary.BigEndian.Uint32(frame[4:]))
	r.more, r.whole = len(frame) >= FullRequest, false
	if int64(binary.BigEndian.Uint64(frame[seenAt:])) > r.seen {
		r.failed = true
	}
}

// answered takes the answer to any request.
func (r *rewatch) answered(xid, code int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if xid != r.under {
		return
	}
	r.failed = r.failed || code != 0
	r.whole = !r.more
}

// stands reports whether the watches of the connection before stand on this one. r.mu is held.
func (r *rewatch) stands() bool { return r.whole && !r.failed }

// standing returns the number of the newest connection, and that of the oldest one whose
// watches stand.
func (r *rewatch) standing() (connection, oldest int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stands() {
		return r.connection, r.unbroken
	}
	return r.connection, r.connection
}
