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

// UnheardEnd returns until when a session of that timeout is safe if a connect request without
// an answer may be carried out from then on.
func UnheardEnd(from clock.Instant, timeout time.Duration) clock.Instant {
	return from.Add(part(timeout, leastGrant*touchPart))
}

// Unheard are the connect requests of a session that were not answered, as long as one may yet
// be carried out.
type Unheard struct{ sent []clock.Instant }

// Sent notes that a connect request is about to be sent.
func (u *Unheard) Sent(now clock.Instant, timeout time.Duration) {
	u.Any(now, timeout) // which forgets those that are over
	u.sent = append(u.sent, now)
}

// Heard notes the answer to the newest.
func (u *Unheard) Heard() {
	if n := len(u.sent); n > 0 {
		u.sent = u.sent[:n-1]
	}
}

// Any reports whether there is one that may yet be carried out.
func (u *Unheard) Any(now clock.Instant, timeout time.Duration) bool {
	for len(u.sent) > 0 && now.Least(u.sent[0]) > requestLife*timeout {
		u.sent = u.sent[1:]
	}
	return len(u.sent) > 0
}
