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
	assert.Equal(t, Lately, r.Follows(Proof{Begun: begun}, begun, timeout))
}

// A proof follows another if it was begun when a leader that was paused behind that one has
// caught up, and was answered before it could have been paused for long again.
func TestAProofFollowsAnotherIfNoPauseCanBeInBoth(t *testing.T) {
	const timeout = 1600 * ms
	first := new(clock.Clock).Now()
	r := NewRelays(first)
	r.proved(Proof{Begun: first, Touched: first}, first, timeout)
	for _, c := range []struct {
		begun, answered time.Duration
		follows         Follows
	}{
		{100*ms - 1, 100 * ms, Lately},
		{100 * ms, 100 * ms, Another},
		{100 * ms, 500*ms - 1, Another},
		{499 * ms, 500 * ms, Lately},
		{500*ms - 1, 600 * ms, Lately},
		{500 * ms, 500 * ms, Nothing},
	} {
		assert.Equal(t, c.follows, r.Follows(Proof{Begun: first.Add(c.begun)}, first.Add(c.answered), timeout), "%+v", c)
	}
}

func TestAProofThatComesAfterASleepOfTheMachineFollowsNone(t *testing.T) {
	const timeout = 1600 * ms
	first, later := asleep(t, time.Second)
	r := NewRelays(first)
	r.proved(Proof{Begun: first, Touched: first}, first, timeout)
	later = later.Add(100 * ms)
	assert.Equal(t, Nothing, r.Follows(Proof{Begun: later}, later, timeout))
}
