package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

func TestConnectRequestsWithoutAnAnswerAreForgottenInTime(t *testing.T) {
	const timeout = 10 * time.Second
	l, now := Lease{timeout: timeout}, new(clock.Clock).Now()
	for range 100_000 {
		now = now.Add(time.Second)
		l.Asks(now)
		assert.LessOrEqual(t, len(l.unheard), requestLife*int(timeout/time.Second)+2)
	}
	assert.True(t, l.isUnheard(now.Add(requestLife*timeout)))
	assert.False(t, l.isUnheard(now.Add(requestLife*timeout+1)))
}

func TestAnAnswerIsThatToTheNewestConnectRequest(t *testing.T) {
	l, now := Lease{timeout: time.Second}, new(clock.Clock).Now()
	l.Granted(now, time.Second)
	l.Asks(now)
	l.Asks(now.Add(7 * time.Second))
	l.Granted(now, time.Second)
	assert.True(t, l.isUnheard(now))
	assert.False(t, l.isUnheard(now.Add(9*time.Second)))
}

func TestNoConnectRequestIsWithoutAnAnswerOnceTheOnlyOneHasOne(t *testing.T) {
	l, now := Lease{timeout: time.Second}, new(clock.Clock).Now()
	l.Asks(now)
	assert.True(t, l.isUnheard(now))
	l.Granted(now, time.Second)
	assert.False(t, l.isUnheard(now))
	l.Asks(now)
	l.Begin(time.Second)
	assert.False(t, l.isUnheard(now), "it was for the session before")
}

// The servers may have been stopped with the machine.
func TestASleepOfTheMachineEndsNoConnectRequest(t *testing.T) {
	const timeout = time.Second
	before, after := asleep(t, 2*requestLife*timeout)
	l := Lease{timeout: timeout}
	l.Asks(before)
	assert.True(t, l.isUnheard(after))
}

func TestAServerThatWasNotHeardMayHaveGrantedAQuarterOfTheTimeout(t *testing.T) {
	asked := new(clock.Clock).Now()
	l := lasting(1600*ms, 1500*ms, asked)
	l.Asks(asked)
	assert.Equal(t, 380*ms, l.Left(asked), "19/20 of 400 ms")
}

func TestSureIsWhatAConnectRequestWithoutAnAnswerLeaves(t *testing.T) {
	now := new(clock.Clock).Now()
	for left, sure := range map[time.Duration]time.Duration{1500 * ms: 380 * ms, 380 * ms: 380 * ms, 100 * ms: 100 * ms, -ms: -ms} {
		l := lasting(1600*ms, left, now)
		assert.Equal(t, sure, l.Sure(now))
		l.Asks(now)
		assert.Equal(t, sure, l.Left(now))
	}
}
