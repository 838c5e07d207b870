package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// A connect request that has reached a server may have the leader count the session down anew,
// for as long as that server grants, and at any moment after it was sent: a server that hung
// may find it in its buffers much later. Whether its answer is ever heard has nothing to do
// with it.
//
// The leader also notes which server the session has come to, and refuses the writes of any
// other. So a proof that was committed over the present connection shows that none of the
// earlier requests without an answer has been carried out since that connection was made, and
// until the proof was. From then on it may happen any time.
//
// Assumed: no server grants less than a quarter of what another of the ensemble has granted,
// and none carries out a connect request later than eight session timeouts after it was sent; a
// leader gives up a follower that hangs after syncLimit ticks.
const (
	leastGrant  = 1.0 / 4 // of the timeout: what a server may grant that has not been heard
	requestLife = 8       // timeouts after which a connect request is not carried out any more
)

// unheardEnd returns until when a session of that timeout is safe if a connect request without
// an answer may be carried out from then on.
func unheardEnd(from clock.Instant, timeout time.Duration) clock.Instant {
	return from.Add(part(timeout, leastGrant*touchPart))
}

// Asks takes that a connect request is about to be sent. It shortens the lease, as far as a server may
// shorten the session whose answer is never heard.
func (l *Lease) Asks(now clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isUnheard(now) // which forgets those that are over
	l.unheard = append(l.unheard, now)
	l.shorten(unheardEnd(now, l.timeout))
}

// isUnheard reports whether there is a connect request without an answer that may yet be carried out.
func (l *Lease) isUnheard(now clock.Instant) bool {
	for len(l.unheard) > 0 && now.Least(l.unheard[0]) > requestLife*l.timeout {
		l.unheard = l.unheard[1:]
	}
	return len(l.unheard) > 0
}
