package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// provedIn has a connection take a proof of that length, long after any other.
func (l *Lease) provedIn(took time.Duration) (quick bool) {
	answered := l.slow.Add(time.Hour)
	return l.quickProof(answered.Add(-took), answered)
}

// answering returns a lease over a connection whose fastest answer took that long.
func answering(timeout, fastest time.Duration) *Lease {
	return &Lease{timeout: timeout, connection: connection{fastest: fastest}}
}

// A lock that was asked for as long before the end of a pause would pass for a quick one.
func TestWhatProofsHaveTakenMakesNoneQuick(t *testing.T) {
	l := answering(2*time.Second, time.Millisecond)
	for range 3 {
		assert.False(t, l.provedIn(100*ms))
	}
}

func TestAHandshakeTellsHowLongTheFirstProofMayTakeAndNotWhatIsQuick(t *testing.T) {
	const left, roundTrip = 150 * ms, 100 * ms
	l := Lease{timeout: 2 * time.Second}
	l.Connected(clock.Instant{}, roundTrip)
	assert.Equal(t, left, l.Patience(left))
	assert.False(t, l.provedIn(roundTrip))
}

// A network may be faster by now than all that it has answered.
func TestAWriteIsQuickWithinARoundTripAndA256thOfTheTimeout(t *testing.T) {
	const timeout, part = 1536 * time.Millisecond, 6 * time.Millisecond
	for roundTrip, most := range map[time.Duration]time.Duration{
		part / 6:         part/6 + part,
		part:             2 * part,
		part + 1:         2 * part,
		timeout/6 + part: 2 * part,
	} {
		l := answering(timeout, roundTrip)
		assert.True(t, l.provedIn(most), roundTrip)
		assert.False(t, l.provedIn(most+1), roundTrip)
	}
}

// A leader that was paused has a 16th of the timeout to catch up.
func TestNoProofIsQuickRightBehindASlowWriteOfAnyKind(t *testing.T) {
	const timeout = 1600 * ms
	sent := new(clock.Clock).Now()
	for name, write := range map[string]func(l *Lease, sent, answered clock.Instant){
		"a proof":       func(l *Lease, sent, answered clock.Instant) { l.quickProof(sent, answered) },
		"another write": func(l *Lease, sent, answered clock.Instant) { l.Answered(sent, answered, true) },
	} {
		for later, quick := range map[time.Duration]bool{0: false, 100*ms - 1: false, 100 * ms: true} {
			l, answered := answering(timeout, ms), sent.Add(20*ms)
			write(l, sent, answered)
			begun := answered.Add(later)
			assert.Equal(t, 100*ms-later, l.slow.Least(begun))
			assert.Equal(t, quick, l.quickProof(begun, begun.Add(ms)), "%v behind %s", later, name)
		}
		l := answering(timeout, ms)
		write(l, sent, sent.Add(2*ms))
		assert.True(t, l.quickProof(sent.Add(2*ms), sent.Add(3*ms)), "behind %s that was quick", name)
		l = answering(timeout, ms)
		write(l, sent, sent.Add(20*ms))
		assert.False(t, l.quickProof(sent.Add(19*ms), sent.Add(20*ms)), "under way beside %s that was slow", name)
	}
	l := answering(timeout, ms)
	l.Answered(sent, sent.Add(20*ms), false)
	assert.True(t, l.quickProof(sent.Add(20*ms), sent.Add(21*ms)), "behind a slow read")
	before, woken := asleep(t, time.Second)
	l = answering(timeout, ms)
	l.wrote(before.Add(-20*ms), before)
	assert.False(t, l.quickProof(woken, woken.Add(ms)), "a leader does not catch up while the machine sleeps")
}

// Slow writes of others leave a doubt each time, but a proof is the second of two all the same.
func TestAProofCountsAsAQuickOneOrAsTheSecondOfTwo(t *testing.T) {
	now := new(clock.Clock).Now()
	l := Lease{connection: connection{slow: now.Add(20 * ms), ripe: now.Add(30 * ms)}}
	assert.Equal(t, 20*ms, l.Doubted(now))
	l.ripe = now.Add(10 * ms)
	assert.Equal(t, 10*ms, l.Doubted(now))
}

func TestARoundTripIsWhatTheFastestAnswerHasTaken(t *testing.T) {
	var l Lease
	now := new(clock.Clock).Now()
	assert.Zero(t, l.RoundTrip(), "none yet")
	for _, took := range []time.Duration{5, 3, 4} {
		l.Answered(now, now.Add(took*ms), false)
	}
	assert.Equal(t, 3*ms, l.RoundTrip())
	l.Answered(now, now, false) // by a clock that is too coarse to tell
	l.Answered(now, now.Add(ms), false)
	assert.Equal(t, time.Duration(1), l.RoundTrip(), "an answer all the same")
}

// A server has a quarter of the timeout, and half of what the lease has left so that the other
// half is there to find another. It has twice what the last proof took, while the lease lasts:
// one that is slow all the time keeps the session.
func TestAServerThatIsSlowAllTheTimeIsGivenMoreTimeThanOneThatHangs(t *testing.T) {
	for _, c := range []struct{ lastProof, left, patience time.Duration }{
		{1, 0, 400}, // nothing is to be saved
		{300, 0, 400},
		{1, 960, 400},
		{1, 600, 300},
		{100, 600, 300},
		{160, 600, 320},
		{190, 200, 200},
		{300, 960, 400},
	} {
		l := Lease{timeout: 1600 * ms}
		l.provedIn(c.lastProof * ms)
		assert.Equal(t, c.patience*ms, l.Patience(c.left*ms), "%+v", c)
	}
}

func TestAServerThatTheMachineSleptThroughIsGivenThatTimeAgain(t *testing.T) {
	before, woken := asleep(t, time.Second)
	l := Lease{timeout: 8 * time.Second}
	l.quickProof(before, woken)
	assert.Equal(t, 1900*ms, l.Patience(1900*ms))
}
