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

	under   int32 // xid of the newest request
	more    bool  // another one may follow it
	refused bool  // one was
	late    bool  // one came too late to tell of all changes before it
	whole   bool  // the last one was answered
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
	r.under, r.refused, r.late, r.whole = xidEvent, false, false, false // an xid that no request has
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
		r.late = true
	}
}

// answered takes the answer to any request.
func (r *rewatch) answered(xid, code int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if xid != r.under {
		return
	}
	r.refused = r.refused || code != 0
	r.whole = !r.more
}

// stands reports whether the watches of the connection before stand on this one, and have told of
// what changed between the two. r.mu is held.
func (r *rewatch) stands() bool { return r.isSet() && !r.late }

// isSet reports whether all watches that there were are set over this connection. r.mu is held.
func (r *rewatch) isSet() bool { return r.whole && !r.refused }

func (r *rewatch) standing() Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Standing{Connection: r.connection, Oldest: r.connection, Set: r.isSet()}
	if r.stands() {
		s.Oldest = r.unbroken
	}
	return s
}

// Standing says which of go-zookeeper's watches are to be relied on.
type Standing struct {
	Connection int64 // the number of the newest one that carried a session
	// Oldest is the number of the oldest one whose watches were set again over each one since. What
	// was watched over an earlier one may have changed without an event.
	Oldest int64
	// Set says that those of all earlier ones stand over the newest one by now, and tell of what
	// changes from here on.
	Set bool
}
