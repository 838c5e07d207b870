package wire

import (
	"time"

	"github.com/zklock/zklock/internal/latch"
)

// early holds the first answer over a connection back until go-zookeeper has asked for its
// watches to be set again. The request names the last transaction that was seen, which is read
// without a lock while an answer would change it: a data race, and a newer transaction than the
// watches have been told of. That race is left where a connection goes down while an answer waits, or
// before it was asked: then the request goes out over the next one, ahead of that one's own.
type early struct {
	limit time.Duration // for a wait
	set   latch.Latch
}

// longestWait is for a go-zookeeper that asks for no watches: all that were set have fired, and
// the connection went before the one that never fires (Session.KeepsWatches) was set. Close is
// to be heard behind it.
const longestWait = time.Second / 2

// newEarly leaves an answer that is awaited no longer than that its time: it may be a proof's.
func newEarly(patience time.Duration) *early { return &early{limit: min(longestWait, patience/4)} }

// asked takes that the watches are asked for.
func (e *early) asked() {
	if e != nil {
		e.set.Close()
	}
}

// wait returns when the watches are asked for, or will not be.
func (e *early) wait(down <-chan struct{}) {
	if e == nil || latch.IsClosed(e.set.Done()) {
		return
	}
	late := time.NewTimer(e.limit)
	defer late.Stop()
	select {
	case <-e.set.Done():
	case <-down:
	case <-late.C:
		e.set.Close()
	}
}
