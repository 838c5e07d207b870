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
		byFirst, _ := r.proved(Proof{Begun: answered, Touched: touched}, answered, timeout)
		assert.Equal(t, connected, byFirst, "by the first alone")
		byBoth, _ := r.proved(Proof{Begun: begun, Touched: answered}, begun, timeout)
		assert.Equal(t, sure, byBoth, later)
	}
}

// What the first one has made likely is of use for a while.
func TestAProofIsTheSecondOfTwoForAQuarterOfTheTimeout(t *testing.T) {
	const timeout = 1600 * ms
	connected := new(clock.Clock).Now()
	before, woken := asleep(t, time.Second)
	for name, c := range map[string]struct {
		first, begun, answered clock.Instant
		second                 bool
	}{
		"too early":                         {connected, connected.Add(100*ms - 1), connected.Add(200 * ms), false},
		"in time":                           {connected, connected.Add(100 * ms), connected.Add(500*ms - 1), true},
		"too late":                          {connected, connected.Add(100 * ms), connected.Add(500 * ms), false},
		"too late by the time of a sleep":   {before, woken.Add(100 * ms), woken.Add(101 * ms), false},
		"too early but for that of a sleep": {before, woken, woken.Add(1), false},
	} {
		r := NewRelays(connected)
		_, second := r.proved(Proof{Begun: c.first}, c.first, timeout)
		assert.False(t, second, "the first of all")
		_, second = r.proved(Proof{Begun: c.begun}, c.answered, timeout)
		assert.Equal(t, c.second, second, name)
	}
}

func TestALeaderDoesNotCatchUpWhileTheMachineSleeps(t *testing.T) {
	const timeout = 1600 * ms
	answered, begun := asleep(t, 200*ms)
	connected := answered.Add(-time.Second)
	r := NewRelays(connected)
	r.proved(Proof{Begun: answered, Touched: answered}, answered, timeout)
	sure, _ := r.proved(Proof{Begun: begun, Touched: answered}, begun, timeout)
	assert.Equal(t, connected, sure)
}
