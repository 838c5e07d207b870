package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

func TestConnectRequestsWithoutAnAnswerAreForgottenInTime(t *testing.T) {
	const timeout = 10 * time.Second
	var u Unheard
	now := new(clock.Clock).Now()
	for range 100_000 {
		now = now.Add(time.Second)
		u.Sent(now, timeout)
		assert.LessOrEqual(t, len(u.sent), requestLife*int(timeout/time.Second)+2)
	}
	assert.True(t, u.Any(now.Add(requestLife*timeout), timeout))
	assert.False(t, u.Any(now.Add(requestLife*timeout+1), timeout))
}

func TestAnAnswerIsThatToTheNewestConnectRequest(t *testing.T) {
	var u Unheard
	now := new(clock.Clock).Now()
	u.Heard()
	u.Sent(now, time.Second)
	u.Sent(now.Add(7*time.Second), time.Second)
	u.Heard()
	assert.True(t, u.Any(now, time.Second))
	assert.False(t, u.Any(now.Add(9*time.Second), time.Second))
}

func TestNoConnectRequestIsWithoutAnAnswerOnceTheOnlyOneHasOne(t *testing.T) {
	var u Unheard
	now := new(clock.Clock).Now()
	u.Sent(now, time.Second)
	assert.True(t, u.Any(now, time.Second))
	u.Heard()
	assert.False(t, u.Any(now, time.Second))
}

// The servers may have been stopped with the machine.
func TestASleepOfTheMachineEndsNoConnectRequest(t *testing.T) {
	const timeout = time.Second
	before, after := asleep(t, 2*requestLife*timeout)
	var u Unheard
	u.Sent(before, timeout)
	assert.True(t, u.Any(after, timeout))
}

func TestAServerThatWasNotHeardMayHaveGrantedAQuarterOfTheTimeout(t *testing.T) {
	asked := new(clock.Clock).Now()
	assert.Equal(t, asked.Add(380*time.Millisecond), UnheardEnd(asked, 1600*time.Millisecond), "19/20 of 400 ms")
}
