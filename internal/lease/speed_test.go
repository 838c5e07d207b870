package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/zklock/zklock/internal/clock"
)

// proved has a connection take a proof of that length, long after any other.
func (s *Speed) proved(took, timeout time.Duration) (quick bool) {
	answered := s.slow.Add(time.Hour)
	return s.Proved(answered.Add(-took), answered, timeout)
}

// A lock that was asked for as long before the end of a pause would pass for a quick one.
func TestWhatProofsHaveTakenMakesNoneQuick(t *testing.T) {
	const timeout, slow = 2 * time.Second, 100 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	for range 3 {
		assert.False(t, s.proved(slow, timeout))
	}
}

func TestAHandshakeTellsHowLongTheFirstProofMayTakeAndNotWhatIsQuick(t *testing.T) {
	const timeout, left, roundTrip = 2 * time.Second, 150 * time.Millisecond, 100 * time.Millisecond
	s := NewSpeed(roundTrip)
	assert.Equal(t, left, s.Patience(timeout, left))
	assert.False(t, s.proved(roundTrip, timeout))
}

// A network may be faster by now than all that it has answered. Beyond a sixth of the timeout nobody
// would have a lock by two proofs.
func TestAWriteIsQuickWithinARoundTripAndA256thOfTheTimeout(t *testing.T) {
	const timeout, part = 1536 * time.Millisecond, 6 * time.Millisecond
	for roundTrip, most := range map[time.Duration]time.Duration{
		part / 6:         part/6 + part,
		part:             2 * part,
		part + 1:         2 * part,
		timeout / 6:      2 * part,
		timeout/6 + part: timeout/6 + 2*part,
	} {
		s := Speed{fastest: roundTrip}
		assert.True(t, s.proved(most, timeout), roundTrip)
		assert.False(t, s.proved(most+1, timeout), roundTrip)
	}
}

// A leader that was paused has a 16th of the timeout to catch up.
func TestNoProofIsQuickRightBehindASlowWriteOfAnyKind(t *testing.T) {
	const timeout = 1600 * ms
	sent := new(clock.Clock).Now()
	for name, write := range map[string]func(s *Speed, sent, answered clock.Instant){
		"a proof":       func(s *Speed, sent, answered clock.Instant) { s.Proved(sent, answered, timeout) },
		"another write": func(s *Speed, sent, answered clock.Instant) { s.Wrote(sent, answered, timeout) },
	} {
		for later, quick := range map[time.Duration]bool{0: false, 100*ms - 1: false, 100 * ms: true} {
			s, answered := Speed{fastest: ms}, sent.Add(20*ms)
			write(&s, sent, answered)
			begun := answered.Add(later)
			assert.Equal(t, 100*ms-later, s.Doubted(begun))
			assert.Equal(t, quick, s.Proved(begun, begun.Add(ms), timeout), "%v behind %s", later, name)
		}
		s := Speed{fastest: ms}
		write(&s, sent, sent.Add(2*ms))
		assert.True(t, s.Proved(sent.Add(2*ms), sent.Add(3*ms), timeout), "behind %s that was quick", name)
		s = Speed{fastest: ms}
		write(&s, sent, sent.Add(20*ms))
		assert.False(t, s.Proved(sent.Add(19*ms), sent.Add(20*ms), timeout), "under way beside %s that was slow", name)
	}
	before, woken := asleep(t, time.Second)
	s := Speed{fastest: ms}
	s.Wrote(before.Add(-20*ms), before, timeout)
	assert.False(t, s.Proved(woken, woken.Add(ms), timeout), "a leader does not catch up while the machine sleeps")
}

func TestARoundTripIsWhatTheFastestAnswerHasTaken(t *testing.T) {
	var s Speed
	assert.Zero(t, s.RoundTrip(), "none yet")
	for _, took := range []time.Duration{5, 3, 4} {
		s.Answered(took * time.Millisecond)
	}
	assert.Equal(t, 3*time.Millisecond, s.RoundTrip())
	s.Answered(0) // by a clock that is too coarse to tell
	s.Answered(time.Millisecond)
	assert.Equal(t, time.Duration(1), s.RoundTrip(), "an answer all the same")
}

// A server has a quarter of the timeout, and half of what the lease has left so that the other
// half is there to find another. It has twice what the last proof took, while the lease lasts:
// one that is slow all the time keeps the session.
func TestAServerThatIsSlowAllTheTimeIsGivenMoreTimeThanOneThatHangs(t *testing.T) {
	const timeout = 1600 * time.Millisecond
	for _, c := range []struct{ lastProof, left, patience int }{
		{1, 0, 400}, // nothing is to be saved
		{300, 0, 400},
		{1, 960, 400},
		{1, 600, 300},
		{100, 600, 300},
		{160, 600, 320},
		{190, 200, 200},
		{300, 960, 400},
	} {
		var s Speed
		s.proved(time.Duration(c.lastProof)*time.Millisecond, timeout)
		patience := s.Patience(timeout, time.Duration(c.left)*time.Millisecond)
		assert.Equal(t, time.Duration(c.patience)*time.Millisecond, patience, "%+v", c)
	}
}

func TestAServerThatTheMachineSleptThroughIsGivenThatTimeAgain(t *testing.T) {
	const timeout = 8 * time.Second
	before, woken := asleep(t, time.Second)
	var s Speed
	s.Proved(before, woken, timeout)
	assert.Equal(t, 1900*ms, s.Patience(timeout, 1900*ms))
}
