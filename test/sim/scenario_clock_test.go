package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A leader whose clock runs fast by 1 % ends sessions early by as much.
func TestF33AFastClockAtTheServerIsWithinTheMargin(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			s.Server(0).JumpClock(time.Millisecond)
		}
		require.NoError(t, h.Err())
		a.cutOff()
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			s.Server(0).JumpClock(time.Millisecond)
		}
		require.ErrorIs(t, h.Err(), zklock.ErrLost)
		a.place.Unblock()
	})
}

// Timers stand still while a machine sleeps, its session's countdown does not.
func TestF33AHolderWhoseMachineSleptIsToldBeforeItsSessionEnds(t *testing.T) {
	schedules := 0
	for nap := timeout / 16; nap < timeout; nap += timeout / 16 {
		for phase := range time.Duration(8) {
			play(t, 3, func(s *stage) {
				a := s.enter("a")
				a.moveToFollower()
				h := a.mustTake()
				gone := s.gone(h.Node())
				time.Sleep(timeout + phase*timeout/64)
				a.cutOff()
				if s.AgeSession(a.ID(), 0)-nap < timeout/16 {
					a.place.Unblock() // who wakes up too late cannot be told in time
					a.give(h)
					return
				}
				schedules++
				a.sleep(nap)
				<-h.Lost() // the checker has an eye on the session
				<-gone
				a.place.Unblock()
			}, zktest.WithTickTime(timeout/10))
		}
	}
	t.Logf("%d schedules", schedules)
}

// A clock that was set back by as much as the machine then slept says that no time
// has passed.
func TestF33AClockThatIsSetBackDoesNotHideASleep(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		time.Sleep(timeout)
		a.cutOff()
		a.clock.Step(-timeout / 2)
		time.Sleep(timeout / 20)
		a.sleep(timeout / 2)
		<-h.Lost()
		a.place.Unblock()
	}, zktest.WithTickTime(timeout/10))
}

// The touches that the lease rests on were noted before the clock was set back, and
// count on after the sleep.
func TestF33AClockThatWasSetBackHidesNoSleepFromOlderTouches(t *testing.T) {
	schedules := 0
	for nap := timeout / 8; nap < timeout*5/8; nap += timeout / 16 {
		for phase := range time.Duration(6) {
			play(t, 3, func(s *stage) {
				a := s.enter("a")
				a.moveToFollower()
				h := a.mustTake()
				gone := s.gone(h.Node())
				mine, others := a.server()
				leader := s.Leader()
				proof := func() {
					answer := s.HoldReply(zktest.OpMulti)
					<-answer.Struck()
					answer.Release()
				}
				time.Sleep(timeout)
				proof()
				a.clock.Step(-time.Hour)
				proof()
				time.Sleep(phase * timeout / 64)
				a.sleep(nap)
				awake := s.HoldReply(zktest.OpMulti)
				select {
				case <-h.Lost(): // it slept for too long
					return
				case <-awake.Struck():
				}
				s.Block(mine, leader)
				a.place.Block(zktest.ToServer, others...)
				awake.Release()
				<-h.Lost()
				<-gone
				schedules++
				s.Heal()
				a.place.Unblock()
			}, fineTicks...)
		}
	}
	t.Logf("%d schedules", schedules)
}

func TestF33AMachineThatSleptBrieflyKeepsItsHold(t *testing.T) {
	for phase := range time.Duration(8) {
		play(t, 3, func(s *stage) {
			a := s.enter("a")
			h := a.mustTake()
			time.Sleep(timeout + phase*timeout/64)
			for range 20 {
				a.sleep(timeout / 4)
				time.Sleep(timeout)
			}
			a.clock.Step(-time.Hour)
			time.Sleep(timeout)
			require.NoError(s, h.Err())
			require.NoError(s, a.give(h))
		})
	}
}
