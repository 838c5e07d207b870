package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// The first of two proofs may have been found by a leader that was paused, ahead of the touches.
// The other one was begun a 16th of the timeout after the answer to the first, or later.
func TestATouchIsSureByASecondProofForWhichTheLeaderHadTimeToCatchUp(t *testing.T) {
	const timeout = 1600 * ms
	connected := new(clock.Clock).Now()
	touched, answered := connected.Add(time.Second), connected.Add(2*time.Second)
	for later, sure := range map[time.Duration]clock.Instant{
		100*ms - 1: connected,
		100 * ms:   touched,
	} {
		r, begun := NewRelays(connected), answered.Add(later)
		assert.Equal(t, connected, r.proved(Proof{Begun: answered, Touched: touched}, answered, timeout), "by the first alone")
		assert.Equal(t, sure, r.proved(Proof{Begun: begun, Touched: answered}, begun, timeout), later)
	}
}

func TestALeaderDoesNotCatchUpWhileTheMachineSleeps(t *testing.T) {
	const timeout = 1600 * ms
	answered, begun := asleep(t, 200*ms)
	connected := answered.Add(-time.Second)
	r := NewRelays(connected)
	r.proved(Proof{Begun: answered, Touched: answered}, answered, timeout)
	assert.Equal(t, connected, r.proved(Proof{Begun: begun, Touched: answered}, begun, timeout))
}
