package nemesis

import (
	"fmt"
	"time"
	_ "unsafe" // for go:linkname
)

// Op is one call that asks for a lock, and what became of it. A client reports it at
// each step. Between Invoked and OK or Failed nobody knows whether it has the lock,
// which is as far as a client gets that is killed: Jepsen calls such an end info.
//
// The stamps err on the side of the lock: a hold is never said to be longer than
// it was. A process that is stopped between two instructions does not spoil that.
type Op struct {
	Process int   // of the client; a process that replaces a killed one has its own number
	Client  int   // goroutine of the process
	ID      int64 // within the process
	Path    string
	Share   Share

	Invoked Instant // before the call
	OK      Instant // after it returned with the lock
	Failed  Instant // after it returned without

	Asked   int64 // the session of the call; 0: not noted
	Session int64 // whose hold it is
	Token   int64 // 0: nobody asked for it, so that the node may go on to the next owner
	Node    string

	Valid Instant // before the last call of Valid that was true
	Open  Instant // before the lost channel was last seen open
	Freed Instant // after the release returned
	Lost  Instant // after the lost channel was seen closed
}

func (o *Op) String() string {
	return fmt.Sprintf("%v of %s by client %d of process %d (session %#x, token %#x)",
		o.Share, o.Path, o.Client, o.Process, o.Session, o.Token)
}

// ok reports whether the op is known to have got the lock.
func (o *Op) ok() bool { return o.OK != 0 }

// held returns until when its owner could believe to have the lock, or was not told
// to have lost it. It may have ended before OK if it was never seen: a process that is
// stopped when the call returns may find the hold lost at its first look.
func (o *Op) held() Instant { return max(o.Invoked, o.Valid, o.Open) }

// Share is what part of a path's lock an op asks for, out of Of parts: two
// holds can be at one time if there are parts enough. A permit of a semaphore of
// size 3 is 1 of 3, a reader 1 of many, a writer many of many.
type Share struct{ Parts, Of int }

// many is more than there are readers.
const many = 1 << 20

// The shares of a lock, and of a read/write lock.
var (
	Exclusive = Share{1, 1}
	Writing   = Share{many, many}
	Reading   = Share{1, many}
)

// Permits returns the share of n permits of a semaphore.
func Permits(n, size int) Share { return Share{n, size} }

func (s Share) String() string {
	switch s {
	case Exclusive:
		return "lock"
	case Writing:
		return "write lock"
	case Reading:
		return "read lock"
	}
	return fmt.Sprintf("%d of %d permits", s.Parts, s.Of)
}

// whole reports whether nobody else can hold beside it.
func (s Share) whole() bool { return s.Parts == s.Of }

// Instant is a moment by the machine's monotonic clock, which all its processes
// share and which goes on while one of them is stopped. The zero value stands for
// a moment that has not come.
type Instant int64

// nanotime reads that clock. The time package does not show it: its monotonic
// readings count from the start of the process.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Now returns the moment of its call.
func Now() Instant { return Instant(nanotime()) }

// Sub returns the time from other to i.
func (i Instant) Sub(other Instant) time.Duration { return time.Duration(i - other) }

// Since returns the time from i to now.
func Since(i Instant) time.Duration { return Now().Sub(i) }
