package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// written is a proof that was committed, in time from the connect on.
type written struct{ touched, begun, answered time.Duration }

// after returns a lease after those proofs, over a connection whose fastest answer took 4 ms, and
// when the connect was.
func after(in Terms, proofs ...written) (l *Lease, connected clock.Instant) {
	connected = new(clock.Clock).Now()
	relays, speed := NewRelays(connected), Speed{fastest: 4 * ms}
	l = new(Lease)
	for _, p := range proofs {
		begun, answered := connected.Add(p.begun), connected.Add(p.answered)
		quick := speed.Proved(begun, answered, in.Timeout)
		l.Prove(Proof{begun, connected.Add(p.touched), connected.Add(p.touched)}, quick, answered, &relays, in)
	}
	return l, connected
}

// By the connect alone a lease of 1600 ms ends at 1520, and by a proof begun at 1300 at 2260. One
// is quick that takes 10.25 ms at most.
func TestAProofBeginsALeaseByItselfIfTheLeaderWasSurelyNotPaused(t *testing.T) {
	slow, second := written{0, 1300 * ms, 1311 * ms}, written{900 * ms, 1411 * ms, 1451 * ms}
	for name, c := range map[string]struct {
		proofs []written
		end    time.Duration
	}{
		"a quick one does":                      {[]written{{900 * ms, 1300 * ms, 1310 * ms}}, 2260 * ms},
		"a slow one does not":                   {[]written{slow}, 1520 * ms},
		"nor one begun less than T/16 later":    {[]written{slow, {900 * ms, 1411*ms - 1, 1413 * ms}}, 1520 * ms},
		"a quick one T/16 later does":           {[]written{slow, {900 * ms, 1411 * ms, 1413 * ms}}, 2371 * ms},
		"a slow one T/16 later does not":        {[]written{slow, second}, 1520 * ms},
		"nor one less than T/16 after that":     {[]written{slow, second, {1000 * ms, 1551*ms - 1, 1552 * ms}}, 1520 * ms},
		"a quick one T/16 after that does":      {[]written{slow, {100 * ms, 1411 * ms, 1451 * ms}, {1000 * ms, 1551 * ms, 1552 * ms}}, 2511 * ms},
		"a slow one makes sure of the second's": {[]written{slow, second, {1000 * ms, 1551 * ms, 1600 * ms}}, 2420 * ms},
		"whatever has become of a lease, later": {[]written{{0, 100 * ms, 110 * ms}, slow, {900 * ms, 1316 * ms, 1317 * ms}}, 1520 * ms},
		"a slow one in doubt leaves more doubt": {[]written{slow, {900 * ms, 1350 * ms, 1390 * ms}, {900 * ms, 1411 * ms, 1413 * ms}}, 1520 * ms},
		"a quick one in doubt leaves no more":   {[]written{slow, {900 * ms, 1400 * ms, 1401 * ms}, {900 * ms, 1411 * ms, 1413 * ms}}, 2371 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			l, connected := after(Terms{Timeout: 1600 * ms}, c.proofs...)
			assert.Equal(t, c.end, l.end.Load().Least(connected))
		})
	}
}

// The leader may have been paused after the touch of 900 was sent. It goes on with the write that
// has come, and may end the sessions that seem overdue just behind the next.
func TestASlowProofOfAHoldLeavesTheNextLockInDoubt(t *testing.T) {
	connected := new(clock.Clock).Now()
	relays, speed := NewRelays(connected), Speed{fastest: 4 * ms}
	var l Lease
	prove := func(begun time.Duration, answered time.Duration, held bool) {
		p := Proof{connected.Add(begun), connected.Add(900 * ms), connected.Add(900 * ms)}
		now, in := connected.Add(answered), Terms{Timeout: 1600 * ms, Held: held}
		l.Prove(p, speed.Proved(p.Begun, now, in.Timeout), now, &relays, in)
	}
	prove(1300*ms, 1400*ms, true)
	prove(1401*ms, 1402*ms, false)
	assert.Equal(t, 1520*ms, l.end.Load().Least(connected), "right behind it")
	prove(1500*ms, 1501*ms, false)
	assert.Equal(t, 2420*ms, l.end.Load().Least(connected), "T/16 later")
}

// While something is held, or the lease is long, there is a proof before and after: the touches
// are made sure, which costs nothing then.
func TestAQuickProofBeginsNoLeaseWhileOneRuns(t *testing.T) {
	const timeout = 1600 * ms
	quick := written{900 * ms, 1300 * ms, 1310 * ms}
	l, connected := after(Terms{Timeout: timeout, Held: true}, quick)
	assert.Equal(t, 1520*ms, l.end.Load().Least(connected), "something is held")

	l, connected = after(Terms{Timeout: timeout}, written{600 * ms, 1120 * ms, 1120 * ms})
	assert.Equal(t, 1520*ms, l.end.Load().Least(connected), "a quarter of the timeout is left")
	l, connected = after(Terms{Timeout: timeout}, written{600 * ms, 1120*ms + 1, 1120*ms + 1})
	assert.Equal(t, 2080*ms+1, l.end.Load().Least(connected), "less is left")
}

func TestAProofCountsForAFifthOfTheTimeoutWhileAServerMayHaveGrantedLess(t *testing.T) {
	l, connected := after(Terms{Timeout: 1600 * ms, Unheard: true}, written{900 * ms, 1300 * ms, 1310 * ms})
	assert.Equal(t, 1680*ms, l.end.Load().Least(connected), "19/20 of 400 ms from its start")
}
