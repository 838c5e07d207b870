package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// connectedAt returns a lease of that timeout over a connection that was asked for at start.
func connectedAt(start clock.Instant, timeout time.Duration) *Lease {
	l := &Lease{timeout: timeout}
	l.Connected(start, 0)
	return l
}

func TestATouchCountsOnceItWasAnsweredInTime(t *testing.T) {
	start := new(clock.Clock).Now()
	at := func(ms int) clock.Instant { return start.Add(time.Duration(ms) * time.Millisecond) }
	log := Lease{timeout: 400 * time.Millisecond}
	log.touched(at(0), at(5))
	log.touched(at(10), at(90))
	log.touched(at(20), at(95))

	assert.True(t, log.newest(at(4)).IsZero(), "nothing was answered yet")
	assert.Equal(t, at(0), log.newest(at(90).Add(-1)))
	assert.Equal(t, at(10), log.newest(at(90)))
	assert.Equal(t, at(20), log.newest(at(95)), "answered by then, sent at 20")
	assert.Equal(t, at(20), log.newest(at(500)), "what counted once counts on")
}

func TestATouchIsEarlyIfItWasAnsweredA32ndOfTheTimeoutBeforeItHadToBe(t *testing.T) {
	start := new(clock.Clock).Now()
	at := func(ms int) clock.Instant { return start.Add(time.Duration(ms) * time.Millisecond) }
	log := connectedAt(start, 3200*ms)
	log.touched(at(1), at(100))
	log.touched(at(200), at(300))

	assert.Equal(t, Proof{at(899), start, start}, log.Proof(at(899)), "800 before the proof")
	assert.Equal(t, Proof{at(900), at(1), start}, log.Proof(at(900)))
	assert.Equal(t, Proof{at(999), at(1), start}, log.Proof(at(999)))
	assert.Equal(t, Proof{at(1000), at(1), at(1)}, log.Proof(at(1000)))
	assert.Equal(t, Proof{at(1100), at(200), at(1)}, log.Proof(at(1100)))

	log.touched(at(1150), at(1199))
	assert.Equal(t, Proof{at(1199), at(200), at(1)}, log.Proof(at(1199)), "what was forgotten does not count earlier")
	log.touched(at(1160), at(1200))
	assert.Equal(t, Proof{at(1200), at(200), at(200)}, log.Proof(at(1200)))
}

// A touch is sure by the second of two proofs, the first begun a quarter of 1600 ms after its answer or
// later. Proofs are 100 ms apart and may take 80 ms each, or what the last one took;
// the first may miss the touch by a little.
func TestALeaseIsCarriedOnIfEachTouchIsSureWhileTheOneAheadOfItCounts(t *testing.T) {
	const timeout = 1600 * ms
	start := new(clock.Clock).Now()
	at := func(ms int) clock.Instant { return start.Add(time.Duration(ms) * time.Millisecond) }
	type pair struct{ sent, answered int }
	for name, c := range map[string]struct {
		next, ripe int
		exchanges  []pair
		now        int // when the lease rests on the touch of 0, and ends at 1520
		carried    bool
		took       int // the last proof
	}{
		"the next is in time":                    {0, 0, []pair{{599, 599}}, 599, true, 0},
		"it is not":                              {0, 0, []pair{{600, 600}}, 600, false, 0},
		"one in between is":                      {0, 0, []pair{{520, 520}, {780, 780}}, 780, true, 0},
		"one in between, which is not":           {0, 0, []pair{{680, 820}, {860, 861}}, 861, false, 0},
		"by its answer":                          {0, 0, []pair{{220, 599}}, 599, true, 0},
		"it counts already":                      {0, 0, []pair{{520, 520}}, 1179, true, 0},
		"it counts too late for two proofs":      {0, 0, []pair{{520, 520}}, 1180, false, 0},
		"the second is later if the first is":    {0, 860, []pair{{520, 520}}, 830, true, 0},
		"by so much":                             {0, 1261, []pair{{520, 520}}, 1160, false, 0},
		"one proof is enough":                    {600, 1220, nil, 1220, true, 0},
		"as soon as that may be":                 {600, 1359, nil, 1300, true, 0},
		"that would be too late":                 {600, 1360, nil, 1300, false, 0},
		"what is sure by then carries the next":  {800, 1275, []pair{{1220, 1220}}, 1270, true, 0},
		"there is no other touch since":          {0, 0, nil, 1519, true, 0},
		"one of before changes nothing, however": {0, 0, []pair{{-300, 1500}}, 1519, true, 0},
		"proofs are further apart if they take":  {0, 0, []pair{{493, 493}}, 493, true, 133},
		"that long, it is late":                  {0, 0, []pair{{494, 494}}, 494, false, 133},
		"a proof has as long as that":            {0, 0, []pair{{319, 319}}, 319, true, 200},
		"and no longer":                          {0, 0, []pair{{320, 320}}, 320, false, 200},
	} {
		l := Lease{timeout: timeout, rests: at(0), connection: connection{
			counts: at(0), next: at(c.next), ripe: at(c.ripe), lastProof: time.Duration(c.took) * ms,
		}}
		for _, e := range c.exchanges {
			l.recent = append(l.recent, exchange{at(e.sent), at(e.answered)})
		}
		assert.Equal(t, c.carried, l.carry(at(c.now)), name)
	}
}

func TestALeaseIsNotCarriedOverASleepThatEndsIt(t *testing.T) {
	const timeout = 1600 * ms
	before, woken := asleep(t, time.Second)
	l := Lease{timeout: timeout, connection: connection{counts: before, next: before, ripe: before}}
	l.recent = []exchange{{woken, woken}}
	l.rests = before.Add(400 * ms)
	assert.False(t, l.carry(woken), "920 ms are left, and as long it takes")
	l.rests = before.Add(401 * ms)
	assert.True(t, l.carry(woken))
}

// What is kept is what was answered in the last 9 of 32 parts of the timeout, also while nobody asks.
func TestTouchesAreFewHoweverManyRequests(t *testing.T) {
	start := new(clock.Clock).Now()
	log := connectedAt(start, 6400*ms)
	for i := range 100_000 {
		sent := start.Add(time.Duration(i) * ms)
		log.touched(sent, sent)
		assert.LessOrEqual(t, len(log.recent), 19)
	}
}

func TestThatFewTouchesAreKeptCostsA64thOfTheTimeoutAtMost(t *testing.T) {
	const timeout = 6400 * ms
	start := new(clock.Clock).Now()
	log := connectedAt(start, timeout)
	for i := range 10_000 {
		sent := start.Add(time.Duration(i) * ms)
		log.touched(sent, sent)
		if by := relayedBy(sent, timeout); by.Least(start) >= 0 {
			assert.Less(t, by.Least(log.newest(by)), timeout/64)
		}
	}
}

func TestOfTwoRequestsAtOnceTheOlderIsKept(t *testing.T) {
	start := new(clock.Clock).Now()
	log := connectedAt(start, 400*ms)
	first := start.Add(time.Second)
	log.touched(first, first)
	log.touched(first.Add(1), first.Add(1))
	assert.Equal(t, first, log.newest(first.Add(1)))
}

func TestAnAnswerThatComesLateDoesNotMakeAnOlderTouchTheNewest(t *testing.T) {
	start := new(clock.Clock).Now()
	log := connectedAt(start, 400*ms)
	newer := start.Add(1)
	log.touched(newer, newer)
	assert.Equal(t, newer, log.newest(newer))
	log.touched(start, newer.Add(time.Second))
	assert.Equal(t, newer, log.newest(newer.Add(time.Second)))
}
