package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// written is a proof that was committed, in time from the connect on.
type written struct{ touched, begun, answered time.Duration }

// after returns a lease of 1600 ms after those proofs, over a connection whose fastest answer took
// 4 ms, and when the connect was.
func after(held bool, proofs ...written) (l *Lease, connected clock.Instant) {
	connected = new(clock.Clock).Now()
	l = &Lease{timeout: 1600 * ms}
	l.Connected(connected, 0)
	l.fastest = 4 * ms
	for _, p := range proofs {
		touched := connected.Add(p.touched)
		l.Prove(Proof{connected.Add(p.begun), touched, touched}, held, connected.Add(p.answered))
	}
	return l, connected
}

// ends returns when the lease ends, from start on.
func (l *Lease) ends(start clock.Instant) time.Duration { return l.end.Load().Least(start) }

// By the connect alone a lease of 1600 ms ends at 1520, by a touch of 900 at 2420. A proof is quick
// that takes 10.25 ms at most.
func TestAProofBeginsALeaseByItselfIfTheLeaderWasSurelyNotPaused(t *testing.T) {
	slow, second := written{0, 1300 * ms, 1311 * ms}, written{900 * ms, 1411 * ms, 1451 * ms}
	for name, c := range map[string]struct {
		proofs []written
		end    time.Duration
	}{
		"a quick one does":                      {[]written{{900 * ms, 1300 * ms, 1310 * ms}}, 2420 * ms},
		"a slow one does not":                   {[]written{slow}, 1520 * ms},
		"nor one begun less than T/16 later":    {[]written{slow, {900 * ms, 1411*ms - 1, 1413 * ms}}, 1520 * ms},
		"a quick one T/16 later does":           {[]written{slow, {900 * ms, 1411 * ms, 1413 * ms}}, 2420 * ms},
		"a slow one T/16 later does not":        {[]written{slow, second}, 1520 * ms},
		"nor one less than T/16 after that":     {[]written{slow, second, {1000 * ms, 1551*ms - 1, 1552 * ms}}, 1520 * ms},
		"a quick one T/16 after that does":      {[]written{slow, {100 * ms, 1411 * ms, 1451 * ms}, {1000 * ms, 1551 * ms, 1552 * ms}}, 2520 * ms},
		"a slow one makes sure of the second's": {[]written{slow, second, {1000 * ms, 1551 * ms, 1600 * ms}}, 2420 * ms},
		"whatever has become of a lease, later": {[]written{{0, 100 * ms, 110 * ms}, slow, {900 * ms, 1316 * ms, 1317 * ms}}, 1520 * ms},
		"a slow one in doubt leaves more doubt": {[]written{slow, {900 * ms, 1350 * ms, 1390 * ms}, {900 * ms, 1411 * ms, 1413 * ms}}, 1520 * ms},
		"a quick one in doubt leaves no more":   {[]written{slow, {900 * ms, 1400 * ms, 1401 * ms}, {900 * ms, 1411 * ms, 1413 * ms}}, 2420 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			l, connected := after(false, c.proofs...)
			assert.Equal(t, c.end, l.ends(connected))
		})
	}
}

// The leader may have been paused after the touch of 900 was sent. It goes on with the write that
// has come, and may end the sessions that seem overdue just behind the next.
func TestASlowProofOfAHoldLeavesTheNextLockInDoubt(t *testing.T) {
	l, connected := after(true, written{900 * ms, 1300 * ms, 1400 * ms})
	prove := func(begun time.Duration) {
		touched := connected.Add(900 * ms)
		l.Prove(Proof{connected.Add(begun), touched, touched}, false, connected.Add(begun+ms))
	}
	prove(1401 * ms)
	assert.Equal(t, 1520*ms, l.ends(connected), "right behind it")
	prove(1500 * ms)
	assert.Equal(t, 2420*ms, l.ends(connected), "T/16 later")
}

// A leader that is late may not have asked for the other one yet.
func TestALeaseThatOneProofBeginsRestsOnATouchThatIsEarly(t *testing.T) {
	l, connected := after(false)
	l.Prove(Proof{connected.Add(1300 * ms), connected.Add(1000 * ms), connected.Add(900 * ms)}, false, connected.Add(1301*ms))
	assert.Equal(t, 2420*ms, l.ends(connected))
}

// While something is held, or the lease is long, there is a proof before and after: the touches
// are made sure, which costs nothing then.
func TestAQuickProofBeginsNoLeaseWhileOneRuns(t *testing.T) {
	l, connected := after(true, written{900 * ms, 1300 * ms, 1310 * ms})
	assert.Equal(t, 1520*ms, l.ends(connected), "something is held")

	l, connected = after(false, written{600 * ms, 1120 * ms, 1120 * ms})
	assert.Equal(t, 1520*ms, l.ends(connected), "a quarter of the timeout is left")
	l, connected = after(false, written{600 * ms, 1120*ms + 1, 1120*ms + 1})
	assert.Equal(t, 2120*ms, l.ends(connected), "less is left")
}

func TestAProofCountsForAFifthOfTheTimeoutWhileAServerMayHaveGrantedLess(t *testing.T) {
	l, connected := after(false)
	l.unheard = []clock.Instant{connected}
	touched := connected.Add(900 * ms)
	l.Prove(Proof{connected.Add(1300 * ms), touched, touched}, false, connected.Add(1310*ms))
	assert.Equal(t, 1680*ms, l.ends(connected), "19/20 of 400 ms from its start")
}

// A leader may be paused behind the first proof, which was slow for another reason, and go on
// with the second: the touches of that time have not been relayed.
func TestASlowProofThatFollowsAnotherMakesSureOfItsTouchesOnly(t *testing.T) {
	l, connected := after(false, written{500 * ms, 1300 * ms, 1400 * ms})
	assert.Equal(t, 1520*ms, l.ends(connected), "the connect request is what is sure")
	touched := connected.Add(1000 * ms)
	l.Prove(Proof{connected.Add(1500 * ms), touched, touched}, false, connected.Add(1700*ms))
	assert.Equal(t, 2020*ms, l.ends(connected))
}

// The first of two proofs may have been found by a leader that was paused, ahead of the touches.
// The other one was begun a 16th of the timeout after the answer to the first, or later, by the clock
// that stops while the machine sleeps: a leader does not catch up then.
func TestATouchIsSureByASecondProofForWhichTheLeaderHadTimeToCatchUp(t *testing.T) {
	connected := new(clock.Clock).Now()
	touched, answered := connected.Add(time.Second), connected.Add(2*time.Second)
	before, woken := asleep(t, 200*ms)
	for name, c := range map[string]struct {
		answered, begun clock.Instant // the first, and the second
		sure            clock.Instant
	}{
		"too early":                         {answered, answered.Add(100*ms - 1), connected},
		"in time":                           {answered, answered.Add(100 * ms), touched},
		"too early but for that of a sleep": {before, woken, connected},
	} {
		l := Lease{timeout: 1600 * ms}
		l.Connected(connected, 0)
		l.ripe = c.answered
		assert.Equal(t, connected, l.makeSure(Proof{Begun: c.answered, Touched: touched}, c.answered), "by the first alone")
		assert.Equal(t, c.sure, l.makeSure(Proof{Begun: c.begun, Touched: answered}, c.begun), name)
	}
}
