package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAProofThatMayHaveWaitedForAPausedLeaderMakesTheNextOneNoQuicker(t *testing.T) {
	const timeout, paused = 2 * time.Second, 400 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	assert.False(t, s.Proved(paused, timeout, Lately))
	assert.False(t, s.Proved(2*paused, timeout, Lately))
	assert.False(t, s.Proved(paused, timeout, Another), "what proofs take on this connection, as it seems now")
	assert.True(t, s.Proved(paused, timeout, Lately))
}

func TestAPauseInAProofThatFollowsAnotherMakesTheNextOneNoQuicker(t *testing.T) {
	const timeout, usual, paused = 2 * time.Second, 10 * time.Millisecond, 400 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	s.Proved(usual, timeout, Lately)
	s.Proved(paused, timeout, Lately) // begun too soon to follow the first
	s.Proved(paused, timeout, Another)
	assert.False(t, s.Proved(paused, timeout, Lately))
	assert.True(t, s.Proved(usual, timeout, Lately))
}

// What proofs took before may be much more than they take now, and a lock that was asked for as long
// before the end of a pause would pass for a quick one.
func TestWhatProofsTookLongAgoMakesNoneQuick(t *testing.T) {
	const timeout, slow = 2 * time.Second, 100 * time.Millisecond
	s := Speed{fastest: time.Millisecond}
	assert.False(t, s.Proved(slow, timeout, Nothing))
	assert.False(t, s.Proved(slow, timeout, Another))
	assert.True(t, s.Proved(slow, timeout, Lately))
	assert.False(t, s.Proved(slow, timeout, Nothing))
	assert.False(t, s.Proved(slow, timeout, Lately), "nor is it a measure by itself")
}

func TestAHandshakeTellsHowLongTheFirstProofMayTakeAndNotWhatIsQuick(t *testing.T) {
	const timeout, left, roundTrip = 2 * time.Second, 150 * time.Millisecond, 100 * time.Millisecond
	s := NewSpeed(roundTrip)
	assert.Equal(t, left, s.Patience(timeout, left))
	assert.False(t, s.Proved(roundTrip, timeout, Lately))
}

func TestAWriteIsQuickWithinTwoRoundTripsAndA256thOfTheTimeout(t *testing.T) {
	const timeout, roundTrip = 2560 * time.Millisecond, 25 * time.Millisecond
	for took, quick := range map[time.Duration]bool{
		2*roundTrip + 10*time.Millisecond:     true,
		2*roundTrip + 10*time.Millisecond + 1: false,
	} {
		s := Speed{fastest: roundTrip}
		assert.Equal(t, quick, s.Proved(took, timeout, Lately), took)
	}
}

// A write that a pause may have delayed is no measure. One that was no slower than a 256th of
// the timeout is, as is one that follows another.
func TestAWriteIsQuickWithinA256thOfTheTimeoutMoreThanTheFastest(t *testing.T) {
	const timeout, fastest = 2560 * time.Millisecond, 10 * time.Millisecond
	for took, quick := range map[time.Duration]bool{
		fastest + 10*time.Millisecond:     true,
		fastest + 10*time.Millisecond + 1: false,
	} {
		s := Speed{fastest: time.Millisecond}
		assert.False(t, s.Proved(400*time.Millisecond, timeout, Lately))
		assert.True(t, s.Proved(fastest, timeout, Lately))
		assert.Equal(t, quick, s.Proved(took, timeout, Lately), took)
	}
	s := Speed{fastest: time.Millisecond}
	assert.False(t, s.Proved(fastest+10*time.Millisecond, timeout, Lately), "slower than that")
	assert.False(t, s.Proved(fastest+10*time.Millisecond, timeout, Lately), "so that it is no measure")
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
		s.Proved(time.Duration(c.lastProof)*time.Millisecond, timeout, Lately)
		patience := s.Patience(timeout, time.Duration(c.left)*time.Millisecond)
		assert.Equal(t, time.Duration(c.patience)*time.Millisecond, patience, "%+v", c)
	}
}
