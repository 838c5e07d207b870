package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			end := End(now, now.Add(-c.touched), timeout)
			assert.Equal(t, c.runs, end.Least(now))
			assert.Equal(t, c.runs, end.Most(now))
		})
	}
}

func TestALeaseNeverOutlivesTheServersCountdown(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(draw.Int64N(int64(to-from)+1)) }
	start := new(clock.Clock).Now()
	for range 100_000 {
		timeout := between(100*time.Millisecond, time.Minute)
		tick := between(1, timeout/2)
		sent := between(0, timeout)
		answered := between(sent, sent+timeout)
		// The server sees the request between the two, and relays its touch within half a tick:
		// the leader's countdown begins no earlier than sent.
		relayed := between(sent, answered+tick/2)
		begun := between(answered, answered+2*timeout)
		drawn := fmt.Sprint("timeout ", timeout, ", tick ", tick, ", sent ", sent, ", answered ", answered, ", relayed ", relayed, ", begun ", begun)
		if relayed > begun {
			// Not ahead of the proof on the stream: the request must not count.
			require.Positive(t, start.Add(answered).Least(RelayedBy(start.Add(begun), timeout)), drawn)
			continue
		}
		end := End(start.Add(begun), start.Add(sent), timeout)
		require.Negative(t, end.Least(start.Add(relayed+timeout)), drawn)
	}
}

func TestATouchCountsOnceItWasAnsweredInTime(t *testing.T) {
	start := new(clock.Clock).Now()
	at := func(ms int) clock.Instant { return start.Add(time.Duration(ms) * time.Millisecond) }
	log := Touches{timeout: 400 * time.Millisecond}
	log.Add(at(0), at(5))
	log.Add(at(10), at(90))
	log.Add(at(20), at(95))

	assert.True(t, log.Newest(at(4)).IsZero(), "nothing was answered yet")
	assert.Equal(t, at(0), log.Newest(at(89)))
	assert.Equal(t, at(20), log.Newest(at(95)), "answered by then, sent at 20")
	assert.Equal(t, at(20), log.Newest(at(500)), "what counted once counts on")
}

func TestTouchesAreFewHoweverManyRequests(t *testing.T) {
	start := new(clock.Clock).Now()
	log := Touches{timeout: time.Second}
	for i := range 100_000 {
		sent := start.Add(time.Duration(i) * time.Millisecond)
		log.Add(sent, sent)
	}
	assert.LessOrEqual(t, len(log.recent), 17, "a quarter of the timeout, by its 64th parts")
}

func TestALeaseEndsByWhicheverClockSaysLater(t *testing.T) {
	var c clock.Clock
	var l Lease
	l.Extend(c.Now().Add(time.Hour), c.Now())
	assert.True(t, l.RunsAt(c.Now()))
	c.Step(-24 * time.Hour)
	assert.True(t, l.RunsAt(c.Now()))
	assert.False(t, l.RunsAt(c.Now().Add(time.Hour)), "a wall clock can be set back")
	c.Step(25 * time.Hour)
	assert.False(t, l.RunsAt(c.Now()), "a sleep stops the monotonic clock")
}

func TestALeaseEndsByEachClockWithTheEarlierOfProofAndTouch(t *testing.T) {
	const timeout = 10 * time.Second
	var c clock.Clock
	touched := c.Now()
	c.Step(5 * time.Second) // a sleep: the proof is the earlier by the one clock, the touch by the other
	end := End(c.Now(), touched, timeout)
	assert.InDelta(t, 4500*time.Millisecond, -c.Now().Most(end), float64(time.Second/10))
	assert.InDelta(t, 6*time.Second, -c.Now().Least(end), float64(time.Second/10))
}

func TestAWallClockThatIsSetBackDoesNotMakeUpForALaterSleep(t *testing.T) {
	var c clock.Clock
	var l Lease
	l.Extend(c.Now().Add(time.Minute), c.Now())
	c.Step(-time.Hour)
	c.Now() // any look at it tells
	c.Step(time.Minute)
	assert.False(t, l.RunsAt(c.Now()))
}

func TestAProofThatMayHaveWaitedForAPausedLeaderMakesTheNextOneNoQuicker(t *testing.T) {
	const timeout, paused = 2 * time.Second, 400 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	assert.False(t, s.Proved(paused, timeout, false))
	assert.False(t, s.Proved(2*paused, timeout, false))
	assert.False(t, s.Proved(paused, timeout, true), "what proofs take on this connection, as it seems now")
	assert.True(t, s.Proved(2*paused, timeout, false))
}

func TestAPauseInAProofThatFollowsAnotherMakesTheNextOneNoQuicker(t *testing.T) {
	const timeout, usual, paused = 2 * time.Second, 10 * time.Millisecond, 400 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	s.Proved(usual, timeout, false)
	s.Proved(paused, timeout, false) // begun too soon to follow the first
	s.Proved(paused, timeout, true)
	assert.False(t, s.Proved(paused, timeout, false))
	assert.True(t, s.Proved(4*usual, timeout, false))
}

func TestAHandshakeTellsHowLongTheFirstProofMayTakeAndNotWhatIsQuick(t *testing.T) {
	const timeout, left, roundTrip = 2 * time.Second, 150 * time.Millisecond, 100 * time.Millisecond
	s := NewSpeed(roundTrip)
	assert.Equal(t, left, s.Patience(timeout, left))
	assert.False(t, s.Proved(roundTrip, timeout, false))
}

func TestOfTwoEndsTheLeaseHasTheOneThatIsFurtherAway(t *testing.T) {
	var c clock.Clock
	var l Lease
	l.Extend(c.Now().Add(time.Minute), c.Now())
	c.Step(-time.Hour)
	l.Extend(c.Now().Add(2*time.Minute), c.Now())
	c.Step(3 * time.Minute)
	assert.False(t, l.RunsAt(c.Now()))
}

func TestALeaseIsTheLongestThatWasProved(t *testing.T) {
	var l Lease
	now := new(clock.Clock).Now()
	assert.False(t, l.RunsAt(now), "no proof yet")
	l.Extend(now.Add(time.Hour), now)
	assert.True(t, l.RunsAt(now))
	assert.False(t, l.RunsAt(now.Add(2*time.Hour)))

	l.Extend(now.Add(time.Minute), now)
	assert.True(t, l.RunsAt(now.Add(30*time.Minute)), "an older proof does not shorten it")
	l.Shorten(now.Add(time.Minute))
	assert.False(t, l.RunsAt(now.Add(30*time.Minute)), "a shorter session timeout does")
}

func TestWhatIsLeftOfALeaseIsTooLittleWhileAProofCouldMakeItLonger(t *testing.T) {
	const timeout = 1000 * time.Millisecond
	type proof struct {
		begun, answered int
		quick           bool
	}
	slow, next := proof{700, 750, false}, proof{813, 820, true}
	for name, c := range map[string]struct {
		proofs []proof
		at     int // when the lease runs until 950
		lasts  bool
	}{
		"as long as it leaves time for a proof":               {[]proof{{500, 500, true}}, 720, true},
		"once it does not":                                    {[]proof{{500, 500, true}}, 730, false},
		"after a proof that was doubted":                      {[]proof{slow}, 750, false},
		"when that may be followed by another":                {[]proof{slow}, 813, false},
		"after another that was begun too early":              {[]proof{slow, {800, 820, true}}, 820, false},
		"after the best that was to be had":                   {[]proof{slow, next}, 820, true},
		"after a slow one that comes later":                   {[]proof{slow, next, {821, 824, false}}, 824, false},
		"if even that leaves none of it until the next proof": {[]proof{slow, next}, 825, false},
	} {
		t.Run(name, func(t *testing.T) {
			connected := new(clock.Clock).Now()
			at := func(ms int) clock.Instant { return connected.Add(time.Duration(ms) * time.Millisecond) }
			relays, in := NewRelays(connected), Terms{Timeout: timeout}
			var l Lease
			for _, p := range c.proofs {
				l.Prove(Proof{Begun: at(p.begun), Touched: connected}, p.quick, at(p.answered), &relays, in)
			}
			assert.Equal(t, c.lasts, l.Lasts(at(c.at), in), "with %v left", l.Left(at(c.at)))
		})
	}
}

// A leader may be paused behind the first proof, which was slow for another reason, and go on
// with the second: the touches of that time have not been relayed.
func TestASlowProofThatFollowsAnotherMakesSureOfItsTouchesOnly(t *testing.T) {
	const timeout = 1000 * time.Millisecond
	connected := new(clock.Clock).Now()
	at := func(ms int) clock.Instant { return connected.Add(time.Duration(ms) * time.Millisecond) }
	relays, in := NewRelays(connected), Terms{Timeout: timeout}
	var l Lease
	l.Prove(Proof{Begun: at(850), Touched: at(350)}, false, at(900), &relays, in)
	assert.Equal(t, at(950), *l.end.Load(), "the connect request is what is sure")
	l.Prove(Proof{Begun: at(963), Touched: at(700)}, false, at(1100), &relays, in)
	assert.Equal(t, at(350+950), *l.end.Load())
}

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
