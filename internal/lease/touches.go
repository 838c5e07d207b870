package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Touches remembers when the requests of one connection were sent, for as long as it takes
// until they count.
type Touches struct {
	timeout time.Duration // of the session, as the connection's server said
	settled clock.Instant // when the newest that counts was sent
	recent  []touch       // by the time of their answers
}

type touch struct{ sent, answered clock.Instant }

// NewTouches begins with the connect request, which touches the leader itself.
func NewTouches(connected clock.Instant, timeout time.Duration) Touches {
	return Touches{settled: connected, timeout: timeout}
}

// Add notes a request. Those that follow each other closely are not all kept: an older touch
// only makes the lease shorter.
func (t *Touches) Add(sent, answered clock.Instant) {
	t.Newest(RelayedBy(answered, t.timeout)) // what counts by now for any later proof
	if n := len(t.recent); n > 0 && sent.Least(t.recent[n-1].sent) < part(t.timeout, grainPart) {
		return
	}
	t.recent = append(t.recent, touch{sent, answered})
}

// Newest returns when the newest request that was answered by that time was sent. Calls come in
// the order of their times.
func (t *Touches) Newest(by clock.Instant) clock.Instant {
	counted := 0
	for _, r := range t.recent {
		if r.answered.Least(by) > 0 {
			break
		}
		if r.sent.Least(t.settled) > 0 {
			t.settled = r.sent
		}
		counted++
	}
	t.recent = t.recent[counted:]
	return t.settled
}
