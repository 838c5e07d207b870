package zklock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/zklock/zklock/internal/clock"
)

func TestTheLeaseEndsByTheEarlierOfProofAndTouch(t *testing.T) {
	const timeout = 10 * time.Second
	now := new(clock.Clock).Now()
	for name, c := range map[string]struct {
		touched time.Duration // before the proof
		runs    time.Duration // after it
	}{
		"a touch just before the proof leaves the proof's part": {0, 6 * time.Second},
		"a touch 3.5 s old is as good":                          {3500 * time.Millisecond, 6 * time.Second},
		"an older touch shortens the lease":                     {5 * time.Second, 4500 * time.Millisecond},
		"pings alone, each third of the timeout, leave 0.36 T":  {5833 * time.Millisecond, 3667 * time.Millisecond},
		"a touch of long ago is worth nothing":                  {9500 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			end := leaseEnd(now, now.Add(-c.touched), timeout)
			assert.Equal(t, c.runs, end.Least(now))
			assert.Equal(t, c.runs, end.Most(now))
		})
	}
}

func TestALeaseNeverOutlivesTheServersCountdown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := time.Duration(rapid.IntRange(100, 60_000).Draw(t, "timeout")) * time.Millisecond
		tick := time.Duration(rapid.Int64Range(1, int64(timeout/2)).Draw(t, "tick"))
		start := new(clock.Clock).Now()
		at := func(label string, from, to time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(from), int64(to)).Draw(t, label))
		}
		sent := at("sent", 0, timeout)
		answered := at("answered", sent, sent+timeout)
		// The server sees the request between the two, and relays its touch
		// within half a tick: the leader's countdown begins no earlier than sent.
		relayed := at("relayed", sent, answered+tick/2)
		begun := at("begun", answered, answered+2*timeout)
		if relayed > begun {
			// Not ahead of the proof on the stream: the request must not count.
			assert.Positive(t, start.Add(answered).Least(relayedBy(start.Add(begun), timeout)))
			return
		}
		end := leaseEnd(start.Add(begun), start.Add(sent), timeout)
		assert.Negative(t, end.Least(start.Add(relayed+timeout)))
	})
}

func TestATouchCountsOnceItWasAnsweredInTime(t *testing.T) {
	start := new(clock.Clock).Now()
	at := func(ms int) clock.Instant { return start.Add(time.Duration(ms) * time.Millisecond) }
	log := touches{timeout: 400 * time.Millisecond}
	log.add(at(0), at(5))
	log.add(at(10), at(90))
	log.add(at(20), at(95))

	assert.True(t, log.newest(at(4)).IsZero(), "nothing was answered yet")
	assert.Equal(t, at(0), log.newest(at(89)))
	assert.Equal(t, at(20), log.newest(at(95)), "answered by then, sent at 20")
	assert.Equal(t, at(20), log.newest(at(500)), "what counted once counts on")
}

func TestTouchesAreFewHoweverManyRequests(t *testing.T) {
	start := new(clock.Clock).Now()
	log := touches{timeout: time.Second}
	for i := range 100_000 {
		sent := start.Add(time.Duration(i) * time.Millisecond)
		log.add(sent, sent)
	}
	assert.LessOrEqual(t, len(log.recent), 17, "a quarter of the timeout, by its 64th parts")
}

func TestALeaseEndsByWhicheverClockSaysLater(t *testing.T) {
	var c clock.Clock
	var l lease
	l.extend(c.Now().Add(time.Hour), c.Now())
	assert.True(t, l.runsAt(c.Now()))
	c.Step(-24 * time.Hour)
	assert.True(t, l.runsAt(c.Now()))
	assert.False(t, l.runsAt(c.Now().Add(time.Hour)), "a wall clock can be set back")
	c.Step(25 * time.Hour)
	assert.False(t, l.runsAt(c.Now()), "a sleep stops the monotonic clock")
}

func TestALeaseEndsByEachClockWithTheEarlierOfProofAndTouch(t *testing.T) {
	const timeout = 10 * time.Second
	var c clock.Clock
	touched := c.Now()
	c.Step(5 * time.Second) // a sleep: the proof is the earlier by the one clock, the touch by the other
	end := leaseEnd(c.Now(), touched, timeout)
	assert.InDelta(t, 4500*time.Millisecond, -c.Now().Most(end), float64(time.Second/10))
	assert.InDelta(t, 6*time.Second, -c.Now().Least(end), float64(time.Second/10))
}

func TestAWallClockThatIsSetBackDoesNotMakeUpForALaterSleep(t *testing.T) {
	var c clock.Clock
	var l lease
	l.extend(c.Now().Add(time.Minute), c.Now())
	c.Step(-time.Hour)
	c.Now() // any look at it tells
	c.Step(time.Minute)
	assert.False(t, l.runsAt(c.Now()))
}

func TestAProofThatMayHaveWaitedForAPausedLeaderMakesTheNextOneNoQuicker(t *testing.T) {
	const timeout, paused = 2 * time.Second, 400 * time.Millisecond
	l := &link{fastest: time.Millisecond}
	assert.False(t, l.timeProof(paused, timeout, false))
	assert.False(t, l.timeProof(2*paused, timeout, false))
	assert.False(t, l.timeProof(paused, timeout, true), "what proofs take on this connection, as it seems now")
	assert.True(t, l.timeProof(2*paused, timeout, false))
}

func TestOfTwoEndsTheLeaseHasTheOneThatIsFurtherAway(t *testing.T) {
	var c clock.Clock
	var l lease
	l.extend(c.Now().Add(time.Minute), c.Now())
	c.Step(-time.Hour)
	l.extend(c.Now().Add(2*time.Minute), c.Now())
	c.Step(3 * time.Minute)
	assert.False(t, l.runsAt(c.Now()))
}

func TestALeaseIsTheLongestThatWasProved(t *testing.T) {
	var l lease
	now := new(clock.Clock).Now()
	assert.False(t, l.runsAt(now), "no proof yet")
	l.extend(now.Add(time.Hour), now)
	assert.True(t, l.runsAt(now))
	assert.False(t, l.runsAt(now.Add(2*time.Hour)))

	l.extend(now.Add(time.Minute), now)
	assert.True(t, l.runsAt(now.Add(30*time.Minute)), "an older proof does not shorten it")
	l.shorten(now.Add(time.Minute))
	assert.False(t, l.runsAt(now.Add(30*time.Minute)), "a shorter session timeout does")
}
