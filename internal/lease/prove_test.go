package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// written is a proof that was committed, in time from the connect on.
type written struct {
	touched, begun, answered time.Duration
	quick                    bool
}

// after returns a lease after those proofs, and when the connect was.
func after(in Terms, proofs ...written) (l *Lease, connected clock.Instant) {
	connected = new(clock.Clock).Now()
	relays := NewRelays(connected)
	l = new(Lease)
	for _, p := range proofs {
		l.Prove(Proof{connected.Add(p.begun), connected.Add(p.touched), connected.Add(p.touched)}, p.quick, connected.Add(p.answered), &relays, in)
	}
	return l, connected
}

// By the connect alone a lease of 1600 ms ends at 1520, and by a proof begun at 1300 at 2260.
func TestAProofBeginsALeaseByItselfIfTheLeaderWasSurelyNotPaused(t *testing.T) {
	slow, second := written{0, 1300 * ms, 1310 * ms, false}, written{900 * ms, 1410 * ms, 1450 * ms, false}
	third := written{1000 * ms, 1820 * ms, 1821 * ms, true}
	for name, c := range map[string]struct {
		proofs []written
		end    time.Duration
	}{
		"a quick one does":                       {[]written{{900 * ms, 1300 * ms, 1310 * ms, true}}, 2260 * ms},
		"a slow one does not":                    {[]written{slow}, 1520 * ms},
		"nor one begun less than T/16 later":     {[]written{slow, {900 * ms, 1410*ms - 1, 1412 * ms, true}}, 1520 * ms},
		"a quick one T/16 later does":            {[]written{slow, {900 * ms, 1410 * ms, 1412 * ms, true}}, 2370 * ms},
		"a slow one T/16 later does not":         {[]written{slow, second}, 1520 * ms},
		"after that a quick one does at once":    {[]written{slow, second, {1000 * ms, 1451 * ms, 1452 * ms, true}}, 2411 * ms},
		"answered not T/4 later it is a second":  {[]written{slow, {900 * ms, 1790 * ms, 1810*ms - 1, false}, third}, 2520 * ms},
		"answered T/4 later it is a first again": {[]written{slow, {900 * ms, 1790 * ms, 1810 * ms, false}, third}, 1520 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			l, connected := after(Terms{Timeout: 1600 * ms}, c.proofs...)
			assert.Equal(t, c.end, l.end.Load().Least(connected))
		})
	}
}

// While something is held, or the lease is long, there is a proof before and after: the touches
// are made sure, which costs nothing then.
func TestAQuickProofBeginsNoLeaseWhileOneRuns(t *testing.T) {
	const timeout = 1600 * ms
	quick := written{900 * ms, 1300 * ms, 1310 * ms, true}
	l, connected := after(Terms{Timeout: timeout, Held: true}, quick)
	assert.Equal(t, 1520*ms, l.end.Load().Least(connected), "something is held")

	l, connected = after(Terms{Timeout: timeout}, written{600 * ms, 1120 * ms, 1120 * ms, true})
	assert.Equal(t, 1520*ms, l.end.Load().Least(connected), "a quarter of the timeout is left")
	l, connected = after(Terms{Timeout: timeout}, written{600 * ms, 1120*ms + 1, 1120*ms + 1, true})
	assert.Equal(t, 2080*ms+1, l.end.Load().Least(connected), "less is left")
}

func TestAProofCountsForAFifthOfTheTimeoutWhileAServerMayHaveGrantedLess(t *testing.T) {
	l, connected := after(Terms{Timeout: 1600 * ms, Unheard: true}, written{900 * ms, 1300 * ms, 1310 * ms, true})
	assert.Equal(t, 1680*ms, l.end.Load().Least(connected), "19/20 of 400 ms from its start")
}

// A proof may follow another, one that was doubted, only when enough time has passed for the
// leader, which may have been stopped with the machine; and only if not too much has passed.
func TestASleepOfTheMachineMakesNoProofTheSecondOfTwo(t *testing.T) {
	const timeout = 1600 * ms
	before, woken := asleep(t, time.Second)
	first := Proof{before, before.Add(-time.Hour), before.Add(-time.Hour)}
	for name, c := range map[string]struct {
		proofs []Proof
		quick  []bool
	}{
		"begun less than T/16 of running time later": {[]Proof{{woken, woken, woken}}, []bool{true}},
		"answered T/4 later or more":                 {[]Proof{{woken.Add(100 * ms), woken, woken}, {woken.Add(101 * ms), woken, woken}}, []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var l Lease
			relays, in := NewRelays(first.Touched), Terms{Timeout: timeout}
			l.Prove(first, false, first.Begun, &relays, in)
			for i, p := range c.proofs {
				l.Prove(p, c.quick[i], p.Begun, &relays, in)
			}
			assert.False(t, l.RunsAt(c.proofs[len(c.proofs)-1].Begun))
		})
	}
}
