package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
)

const ms = time.Millisecond

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

func TestWhereProofsTakeLongALeaseLastsIfTheLastOneWasTheBestThatIsToBeHad(t *testing.T) {
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
		"after a quick one":                                   {[]proof{{740, 742, true}}, 742, true},
		"after a proof that was doubted":                      {[]proof{slow}, 750, false},
		"when that may be followed by another":                {[]proof{slow}, 813, false},
		"after another that was begun too early":              {[]proof{slow, {800, 820, false}}, 820, false},
		"after the best that was to be had":                   {[]proof{slow, next}, 820, true},
		"after a slow one that is the second":                 {[]proof{slow, {813, 820, false}}, 820, true},
		"after a slow one that comes later":                   {[]proof{slow, next, {821, 824, false}}, 824, false},
		"if even that leaves none of it until the next proof": {[]proof{slow, next}, 888, false},
	} {
		t.Run(name, func(t *testing.T) {
			connected := new(clock.Clock).Now()
			at := func(ms int) clock.Instant { return connected.Add(time.Duration(ms) * time.Millisecond) }
			relays, in, touches := NewRelays(connected), Terms{Timeout: timeout}, NewTouches(connected, timeout)
			var l Lease
			for _, p := range c.proofs {
				l.Prove(Proof{at(p.begun), connected, connected}, p.quick, at(p.answered), &relays, in)
			}
			assert.Equal(t, c.lasts, l.Lasts(at(c.at), &touches, &relays, &Speed{lastProof: timeout/12 + 1}, in), "with %v left", l.Left(at(c.at)))
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
	l.Prove(Proof{at(850), at(350), at(350)}, false, at(900), &relays, in)
	assert.Equal(t, at(950), *l.end.Load(), "the connect request is what is sure")
	l.Prove(Proof{at(963), at(700), at(700)}, false, at(1100), &relays, in)
	assert.Equal(t, at(350+950), *l.end.Load())
}

// asleep returns when a machine begins to sleep, and when it wakes so much later: at the same
// moment, by the clock that stops meanwhile.
func asleep(t *testing.T, long time.Duration) (before, after clock.Instant) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
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
		var l Lease
		l.Extend(before.Add(time.Minute), now)
		l.Extend(before.Add(end), now)
		assert.Equal(t, later, l.RunsAt(before.Add(time.Minute)), end)
		assert.True(t, l.RunsAt(before.Add(time.Minute-1)))
	}
}

func TestALeaseIsNeverMadeLongerByWhatShortensIt(t *testing.T) {
	var l Lease
	now := new(clock.Clock).Now()
	l.Shorten(now.Add(time.Hour))
	assert.False(t, l.RunsAt(now), "one that has not begun")
	l.Extend(now.Add(time.Minute), now)
	l.Shorten(now.Add(time.Hour))
	assert.True(t, l.RunsAt(now.Add(time.Minute-1)))
	assert.False(t, l.RunsAt(now.Add(time.Minute)))
}

func TestAnAnswerToAConnectRequestIsWorthA20thLessThanTheTimeout(t *testing.T) {
	now := new(clock.Clock).Now()
	assert.Equal(t, now.Add(1520*ms), GrantedEnd(now, 1600*ms), "it has reached the leader, and clocks drift")
}

// A tick is half of the timeout at most.
func TestATouchIsRelayedHalfATickAfterTheAnswerAtTheLatest(t *testing.T) {
	now := new(clock.Clock).Now()
	assert.Equal(t, now.Add(-400*ms), RelayedBy(now, 1600*ms))
}

// The session may be as short as a quarter of the timeout: looks at the clocks are four times as
// close, and a proof, which counts for 19/80 of the timeout from then on, has an interval that
// leaves time for it.
func TestProofsAndLooksAreCloserWhileAServerMayHaveGrantedLess(t *testing.T) {
	known, unheard := Terms{Timeout: 1600 * ms}, Terms{Timeout: 1600 * ms, Unheard: true}
	assert.Equal(t, 200*ms, known.Interval(), "an eighth")
	assert.Equal(t, 100*ms, unheard.Interval(), "a 16th")
	assert.Equal(t, 50*ms, known.Look(), "a 32nd, which is less than what the session has beyond the lease")
	assert.Equal(t, known.Look()/4, unheard.Look())
}

// A lease is short if it has less than a quarter of the timeout beyond the next proof. That
// comes an eighth after the last one, or sooner then, as soon as it makes a touch sure.
func TestTheNextProofIsDueAnIntervalAfterTheLastOrEarlierWhileTheLeaseIsShort(t *testing.T) {
	in, now := Terms{Timeout: 1600 * ms}, new(clock.Clock).Now()
	ripe := &Relays{ripe: now.Add(50 * ms)}
	for name, c := range map[string]struct {
		left  time.Duration
		ago   time.Duration // that the last proof was answered
		relay *Relays
		due   time.Duration
	}{
		"a long lease":                       {550 * ms, 50 * ms, ripe, 150 * ms},
		"a short one":                        {550*ms - 1, 50 * ms, ripe, 50 * ms},
		"a short one without a connection":   {300 * ms, 50 * ms, nil, 150 * ms},
		"a long one, when the interval ends": {550 * ms, 200 * ms, ripe, 0},
		"a short one, long after the last":   {100 * ms, 300 * ms, ripe, -100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			l := Lease{proved: now.Add(-c.ago)}
			l.Extend(now.Add(c.left), now)
			assert.Equal(t, c.due, l.NextProof(now, c.relay, in))
		})
	}
	before, now := asleep(t, 80*ms)
	l := Lease{proved: before}
	assert.Equal(t, 120*ms, l.NextProof(now, nil, in), "the session's time has gone on while the machine slept")
}

// A proof takes a 20th of the timeout or less, and that may be half of what is left. Where they take
// more than a 12th, no more is to be had right after one that counted.
func TestALeaseLastsIfItLeavesTimeForAProof(t *testing.T) {
	const timeout = 1600 * ms
	const slow = timeout/12 + 1
	in, now := Terms{Timeout: timeout}, new(clock.Clock).Now()
	before, woken := asleep(t, time.Second)
	long, ago := now.Add(-time.Hour), func(d time.Duration) clock.Instant { return now.Add(-d) }
	for name, c := range map[string]struct {
		l    *Lease
		now  clock.Instant
		left time.Duration // of which the next proof comes in 200 ms, or 100 if that is little
		took time.Duration // the last proof
		want bool
	}{
		"a tenth":                        {&Lease{proved: long}, now, 360 * ms, 0, false},
		"more than that":                 {&Lease{proved: long, rests: now}, now, 360*ms + 1, 0, true},
		"less, right after the last one": {&Lease{proved: now, best: true}, now, 360 * ms, slow - 1, false},
		"which took long":                {&Lease{proved: now, best: true}, now, 100*ms + 1, slow, true},
		"nothing":                        {&Lease{proved: now, best: true}, now, 100 * ms, slow, false},
		"less, just before the next one": {&Lease{proved: ago(200*ms - 1), best: true}, now, 250 * ms, slow, true},
		"less, when the next one is due": {&Lease{proved: ago(200 * ms), best: true}, now, 250 * ms, slow, false},
		"more, when the next one is due": {&Lease{proved: ago(200 * ms), best: true, rests: now}, now, 360*ms + 1, slow, true},
		"less, after one in doubt":       {&Lease{proved: now}, now, 250 * ms, slow, false},
		"less, after a sleep since then": {&Lease{proved: before, best: true}, woken, 250 * ms, slow, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.l.Extend(c.now.Add(c.left), c.now)
			assert.Equal(t, c.want, c.l.Lasts(c.now, new(Touches), new(Relays), &Speed{lastProof: c.took}, in))
		})
	}
}

// Then proofs come twice as often, and each ends the lease anew: what it rests on has to last as long as ever.
func TestALeaseLastsWhileAConnectRequestIsUnheardAsFarAsItsTouchDoes(t *testing.T) {
	in, now := Terms{Timeout: 1600 * ms, Unheard: true}, new(clock.Clock).Now()
	ago := func(d time.Duration) clock.Instant { return now.Add(-d) }
	for name, c := range map[string]struct {
		l    *Lease
		left time.Duration // of which the next proof comes in 100 ms
		took time.Duration // the last proof
		want bool
	}{
		"a tenth":                     {&Lease{rests: now}, 260 * ms, 0, false},
		"more than that":              {&Lease{rests: now}, 260*ms + 1, 0, true},
		"by a touch that soon is old": {&Lease{rests: ago(1160 * ms)}, 300 * ms, 0, false},
		"by one that is not":          {&Lease{rests: ago(1160*ms - 1)}, 300 * ms, 0, true},
		"less, after the last proof":  {&Lease{rests: now, proved: now, best: true}, 260 * ms, 100 * ms, false},
		"which took long":             {&Lease{rests: now, proved: now, best: true}, 100*ms + 1, 100*ms + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			c.l.Extend(now.Add(c.left), now)
			assert.Equal(t, c.want, c.l.Lasts(now, new(Touches), new(Relays), &Speed{lastProof: c.took}, in))
		})
	}
}
