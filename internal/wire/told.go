package wire

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
)

// told is what servers have told of a session so far. The connect request names the last transaction
// of that: a server that has not applied it would show the past, and hangs up. go-zookeeper
// takes part in none of it: it hears of some answers only, and reads what it has seen while the next answer
// changes it. So its answers name no transaction, and what it sends is completed here.
type told struct {
	// For whoever reads a connection, and for the handshake of the next one.
	last int64 // transaction that a frame has named

	answered atomic.Int64 // likewise an answer: it comes behind all events up to there, of which each may be one of several

	// watched is up to where go-zookeeper's watches have told of all changes. Those that happen to be set
	// before it asks for the others may tell of a change that their read has shown.
	watched int64

	connection atomic.Int64 // counts those that carried a session
	set        atomic.Int64 // the last one over which all watches stand
}

// begin takes that there is another session, or none.
func (t *told) begin() {
	t.last, t.watched = 0, 0
	t.answered.Store(0)
	t.set.Store(t.connection.Load() + 1) // there are no watches yet
}

// connected takes that another connection carries the session. Where the watches were not set again over the
// one before, what changed since then is yet to be told.
func (t *told) connected() {
	before := t.connection.Load()
	if t.set.Load() == before {
		t.watched = t.answered.Load()
	}
	t.connection.Store(before + 1)
}

// takes takes an answer, or an event: one of ZooKeeper 3.8 names no transaction.
func (t *told) takes(frame []byte) {
	zxid := int64(binary.BigEndian.Uint64(frame[zxidAt:]))
	t.last = max(t.last, zxid)
	if xidOf(frame) != xidEvent {
		t.answered.Store(max(t.answered.Load(), zxid))
	}
}

// FullRequest is the length from which on another request to set watches may follow: go-zookeeper begins one
// when a path would make this one longer than 128 KiB. Assumed: no path that is watched is
// longer than the difference.
const FullRequest = 120 << 10

// rewatched takes the answer to a request to set watches again, of that length. The next one follows it, unless
// this was refused.
func (t *told) rewatched(code int32, length int) {
	if code == 0 && length < FullRequest {
		t.set.Store(t.connection.Load())
	}
}

// Standing says which of go-zookeeper's watches are to be relied on.
type Standing struct {
	Connection int64 // the number of the newest one that carried a session: what was set over it stands
	Set        bool  // so do those of earlier ones by now, and have told of all changes
}

// Watches returns which of go-zookeeper's watches are to be relied on.
func (d *Dialer) Watches() Standing {
	set := d.told.set.Load() // first, or it may be that of a newer connection
	connection := d.told.connection.Load()
	return Standing{Connection: connection, Set: set == connection}
}

// Told returns up to which transaction the session's watches have told of all changes.
func (d *Dialer) Told() int64 { return d.told.answered.Load() }

// Where a frame of go-zookeeper's names a transaction, behind its length.
const (
	seenAt     = 4 + 4 // in a connect request, behind the protocol's version
	relativeAt = 4 + 8 // in one to set watches, behind the head
)

// naming returns a frame that names a transaction, at that place.
func naming(frame []byte, at int, zxid int64) []byte {
	frame = slices.Clone(frame)
	binary.BigEndian.PutUint64(frame[at:], uint64(zxid))
	return frame
}
