package nemesis

import "fmt"

// Attempt is one call that asks for a lock, and what became of it. The worker
// fills it in as it goes and reports it at each step, so that the report of an
// attempt that a kill has ended stands as it was.
//
// The stamps err on the side of the lock: a hold is never said to be longer than
// it was. A process that is stopped between two instructions does not spoil that.
type Attempt struct {
	Process int   // that made it; a process that replaces a killed one has its own number
	Client  int   // goroutine of the process
	ID      int64 // within the process
	Path    string
	Share   Share

	Called Instant // before the call
	Got    Instant // after it returned with the lock
	Denied Instant // after it returned without

	Asked   int64 // the session of the call; 0: not noted
	Session int64 // whose hold it is
	Token   int64 // 0: nobody asked for it, so that the node may go on to the next owner
	Node    string
	Nested  []Nested // calls of the owner that lock once more

	Valid Instant // before the last call of Valid that was true
	Open  Instant // before the lost channel was last seen open
	Freed Instant // after the release returned
	Lost  Instant // after the lost channel was seen closed
}

// Nested is a lock and unlock of a lock that the caller owns already.
type Nested struct{ Lock, Locked, Unlock, Unlocked Instant }

// Share is what part of a path's lock an attempt asks for, out of Of parts: two
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

// whole tells whether nobody else can hold beside it.
func (s Share) whole() bool { return s.Parts == s.Of }

func (a *Attempt) String() string {
	return fmt.Sprintf("%v of %s by client %d of process %d (session %#x, token %#x)",
		a.Share, a.Path, a.Client, a.Process, a.Session, a.Token)
}

// granted tells whether the attempt is known to have got the lock.
func (a *Attempt) granted() bool { return a.Got != 0 }

// believed returns until when its owner is known to have had reason to believe
// that it holds the lock; 0 if it never had: a process that is stopped when the
// call returns may find the hold lost at its first look.
func (a *Attempt) believed() Instant { return a.Valid }

// unaware returns until when its lost channel is known to have been open.
func (a *Attempt) unaware() Instant { return a.Open }
