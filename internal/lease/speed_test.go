package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A lock that was asked for as long before the end of a pause would pass for a quick one.
func TestWhatProofsHaveTakenMakesNoneQuick(t *testing.T) {
	const timeout, slow = 2 * time.Second, 100 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	for range 3 {
		assert.False(t, s.Proved(slow, timeout))
	}
}

func TestAHandshakeTellsHowLongTheFirstProofMayTakeAndNotWhatIsQuick(t *testing.T) {
	const timeout, left, roundTrip = 2 * time.Second, 150 * time.Millisecond, 100 * time.Millisecond
	s := NewSpeed(roundTrip)
	assert.Equal(t, left, s.Patience(timeout, left))
	assert.False(t, s.Proved(roundTrip, timeout))
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
		assert.True(t, s.Proved(most, timeout), roundTrip)
		assert.False(t, s.Proved(most+1, timeout), roundTrip)
	}
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
		s.Proved(time.Duration(c.lastProof)*time.Millisecond, timeout)
		patience := s.Patience(timeout, time.Duration(c.left)*time.Millisecond)
		assert.Equal(t, time.Duration(c.patience)*time.Millisecond, patience, "%+v", c)
	}
}
