package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
)

const ms = time.Millisecond

// lasting returns a lease of that timeout that has so much left.
func lasting(timeout, left time.Duration, now clock.Instant) *Lease {
	l := &Lease{timeout: timeout, rests: now}
	end := now.Add(left)
	l.end.Store(&end)
	return l
}

// extend has the lease rest on the touch by which it lasts until end.
func (l *Lease) extend(end, now clock.Instant) {
	l.restOn(now, end.Add(-part(l.timeout, touchPart)), now)
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
			require.Positive(t, start.Add(answered).Least(relayedBy(start.Add(begun), timeout)), drawn)
			continue
		}
		l := Lease{timeout: timeout}
		require.Negative(t, l.touchEnd(start.Add(sent)).Least(start.Add(relayed+timeout)), drawn)
	}
}

func TestALeaseEndsByWhicheverClockSaysLater(t *testing.T) {
	var c clock.Clock
	l := lasting(time.Hour, time.Hour, c.Now())
	assert.True(t, l.RunsAt(c.Now()))
	c.Step(-24 * time.Hour)
	assert.True(t, l.RunsAt(c.Now()))
	assert.False(t, l.RunsAt(c.Now().Add(time.Hour)), "a wall clock can be set back")
	c.Step(25 * time.Hour)
	assert.False(t, l.RunsAt(c.Now()), "a sleep stops the monotonic clock")
}

func TestAWallClockThatIsSetBackDoesNotMakeUpForALaterSleep(t *testing.T) {
	var c clock.Clock
	l := lasting(time.Minute, time.Minute, c.Now())
	c.Step(-time.Hour)
	c.Now() // any look at it tells
	c.Step(time.Minute)
	assert.False(t, l.RunsAt(c.Now()))
}

func TestALeaseIsTheLongestThatWasProved(t *testing.T) {
	l, now := Lease{timeout: 2 * time.Hour}, new(clock.Clock).Now()
	assert.False(t, l.RunsAt(now), "no proof yet")
	l.extend(now.Add(time.Hour), now)
	assert.True(t, l.RunsAt(now))
	assert.False(t, l.RunsAt(now.Add(2*time.Hour)))

	l.extend(now.Add(time.Minute), now)
	assert.True(t, l.RunsAt(now.Add(30*time.Minute)), "an older proof does not shorten it")
	l.shorten(now.Add(time.Minute))
	assert.False(t, l.RunsAt(now.Add(30*time.Minute)), "a shorter session timeout does")
}

// asleep returns when a machine begins to sleep, and when it wakes so much later: at the same
// moment, by the clock that stops meanwhile.
func asleep(t *testing.T, long time.Duration) (before, after clock.Instant) {
	t.Helper()
	virtual.Test(t, func(*testing.T) {
		var c clock.Clock
		before = c.Now()
		c.Step(long)
		after = c.Now()
	})
	return before, after
}

func TestOfTwoEndsTheLeaseHasTheOneThatIsFurtherAway(t *testing.T) {
	before, now := asleep(t, 10*time.Second)
	for end, later := range map[time.Duration]bool{55 * time.Second: false, 65 * time.Second: true} {
		l := Lease{timeout: time.Minute}
		l.extend(before.Add(time.Minute), now)
		l.extend(before.Add(end), now)
		assert.Equal(t, later, l.RunsAt(before.Add(time.Minute)), end)
		assert.True(t, l.RunsAt(before.Add(time.Minute-1)))
	}
}

func TestALeaseIsNeverMadeLongerByWhatShortensIt(t *testing.T) {
	var l Lease
	now := new(clock.Clock).Now()
	l.shorten(now.Add(time.Hour))
	assert.False(t, l.RunsAt(now), "one that has not begun")
	l = Lease{timeout: time.Hour}
	l.extend(now.Add(time.Minute), now)
	l.shorten(now.Add(time.Hour))
	assert.True(t, l.RunsAt(now.Add(time.Minute-1)))
	assert.False(t, l.RunsAt(now.Add(time.Minute)))
}

func TestTheLeaseOfASessionIsNoneOfTheNext(t *testing.T) {
	now := new(clock.Clock).Now()
	l := lasting(1600*ms, 1500*ms, now)
	l.Begin(time.Second)
	assert.False(t, l.RunsAt(now))
}

// It has reached the leader, and clocks drift.
func TestAServerThatGrantsLessShortensTheLeaseToA20thLessFromTheConnectRequest(t *testing.T) {
	asked := new(clock.Clock).Now()
	l := lasting(3200*ms, 3000*ms, asked)
	l.Granted(asked, 3200*ms)
	l.Granted(asked, 5000*ms)
	assert.Equal(t, 3000*ms, l.Left(asked))
	assert.Equal(t, 3200*ms, l.Timeout())
	l.Granted(asked, 1600*ms)
	assert.Equal(t, 1520*ms, l.Left(asked))
	assert.Equal(t, 1600*ms, l.Timeout())
}

// A tick is half of the timeout at most.
func TestATouchIsRelayedHalfATickAfterTheAnswerAtTheLatest(t *testing.T) {
	now := new(clock.Clock).Now()
	assert.Equal(t, now.Add(-400*ms), relayedBy(now, 1600*ms))
}

// The session may be as short as a quarter of the timeout: looks at the clocks are four times as
// close, and a proof, which counts for 19/80 of the timeout from then on, has an interval that
// leaves time for it.
func TestProofsAndLooksAreCloserWhileAServerMayHaveGrantedLess(t *testing.T) {
	now := new(clock.Clock).Now()
	known, unheard := lasting(1600*ms, 1000*ms, now), lasting(1600*ms, 1000*ms, now)
	unheard.unheard = []clock.Instant{now}
	assert.Equal(t, 200*ms, known.Interval(now), "an eighth")
	assert.Equal(t, 100*ms, unheard.Interval(now), "a 16th")
	assert.Equal(t, 40*ms, known.NextLook(now), "half of what the session has beyond the lease")
	assert.Equal(t, 10*ms, unheard.NextLook(now))
	assert.Equal(t, ms, lasting(1600*ms, ms, now).NextLook(now), "the lease ends earlier")
}

// A lease is short if it has less than a quarter of the timeout beyond the next proof. That
// comes an eighth after the last one, or sooner then, as soon as it makes a touch sure.
func TestTheNextProofIsDueAnIntervalAfterTheLastOrEarlierWhileTheLeaseIsShort(t *testing.T) {
	now := new(clock.Clock).Now()
	before, woken := asleep(t, 170*ms)
	for name, c := range map[string]struct {
		now, proved clock.Instant
		left        time.Duration
		ripe        clock.Instant
		due         time.Duration // 40 ms at most: then it is asked again
	}{
		"a long lease":                     {now, now.Add(-180 * ms), 420 * ms, now.Add(10 * ms), 20 * ms},
		"a short one":                      {now, now.Add(-180 * ms), 420*ms - 1, now.Add(10 * ms), 10 * ms},
		"one that is asked again":          {now, now.Add(-150 * ms), 1000 * ms, now, 40 * ms},
		"a long one, the interval is over": {now, now.Add(-200 * ms), 550 * ms, now, 0},
		"a short one, long after the last": {now, now.Add(-300 * ms), 100 * ms, now.Add(50 * ms), -100 * ms},
		"the machine slept meanwhile":      {woken, before, 1000 * ms, woken, 30 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			l := lasting(1600*ms, c.left, c.now)
			l.proved, l.ripe = c.proved, c.ripe
			assert.Equal(t, c.due, l.NextProof(c.now))
		})
	}
}

// A proof takes a 20th of the timeout or less, and that may be half of what is left; or as long as the
// last, if that took longer.
func TestALeaseLastsIfItLeavesTimeForAProof(t *testing.T) {
	const timeout = 1600 * ms
	now := new(clock.Clock).Now()
	for name, c := range map[string]struct {
		left    time.Duration // of which the next proof comes in 200 ms, or 100 while a connect request is unheard
		touched time.Duration // before now: what the lease rests on counts for 1520 ms
		took    time.Duration // the last proof
		unheard bool
		want    bool
	}{
		"a tenth":                                 {360 * ms, 0, 0, false, false},
		"more than that":                          {360*ms + 2, 0, 0, false, true},
		"what the last one took":                  {330 * ms, 0, 130 * ms, false, false},
		"more than what it took":                  {330*ms + 1, 0, 130 * ms, false, true},
		"as much, where proofs take long":         {340 * ms, 0, 140 * ms, false, false},
		"more, where proofs take long":            {340*ms + 1, 0, 140 * ms, false, true},
		"a tenth, unheard":                        {260 * ms, 0, 0, true, false},
		"more than that, unheard":                 {260*ms + 2, 0, 0, true, true},
		"unheard, by a touch that soon is old":    {300 * ms, 1160 * ms, 0, true, false},
		"unheard, by one that is not":             {300 * ms, 1160*ms - 2, 0, true, true},
		"unheard, more than what the last took":   {240 * ms, 0, 139 * ms, true, true},
		"unheard, less than what the last took":   {240 * ms, 0, 140 * ms, true, false},
		"nothing beyond the next proof":           {200 * ms, 0, 0, false, false},
		"nothing":                                 {0, 0, 0, false, false},
		"nothing beyond it, where they take long": {200 * ms, 0, 500 * ms, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := lasting(timeout, c.left, now)
			l.rests, l.lastProof = now.Add(-c.touched), c.took
			if c.unheard {
				l.unheard = []clock.Instant{now}
			}
			assert.Equal(t, c.want, l.Lasts(now))
		})
	}
}

// It counts from the proof behind the next one on, a doubt and a proof later than that.
func TestALeaseLastsIfTheNewestTouchIsSureBeforeTheOneIsOldThatItRestsOn(t *testing.T) {
	const timeout = 1600 * ms
	now := new(clock.Clock).Now()
	for ripe, want := range map[time.Duration]bool{180 * ms: false, 180*ms - 1: true} {
		l := lasting(timeout, 1000*ms, now)
		l.rests = now.Add(-1000 * ms)
		l.next, l.counts, l.ripe = l.rests, now, now.Add(ripe)
		assert.Equal(t, want, l.Lasts(now), ripe)
	}
}

// Where proofs take longer than a 12th of the timeout, hardly any touch is sure in time.
func TestWhereProofsTakeLongALeaseNeedsNotBeCarriedOn(t *testing.T) {
	const timeout = 1200 * ms
	now := new(clock.Clock).Now()
	for took, want := range map[time.Duration]bool{100 * ms: false, 100*ms + 1: true} {
		l := lasting(timeout, 1000*ms, now)
		l.rests, l.lastProof = now.Add(-700*ms), took
		l.recent = []exchange{{now, now}}
		_, slow := l.Slow()
		assert.Equal(t, want, slow)
		assert.Equal(t, want, l.Lasts(now), took)
	}
}
