package sim

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

var ensembles = flag.Int("ensembles", 8, "on how many ensembles, whose clocks differ, a leader is paused")

// The leader finds the lock's create in its buffers when it goes on, commits it,
// and then ends the session, of which it has heard nothing for too long.
func TestF22ALockAskedForWhileTheLeaderIsPausedIsNotGrantedByASessionThatEnds(t *testing.T) {
	ended := 0
	for seed := range int64(pauseSchedules) {
		play(t, 3, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake())) // so that the path is there
			time.Sleep(timeout)
			mine, _ := a.server()
			leader := s.Leader()
			if mine == leader {
				return
			}
			if a.asksLateInAPause(leader, seed) {
				ended++
			}
		}, slowServers(seed)...)
	}
	require.Positive(t, ended, "no schedule came near")
}

// pauseSchedules is how many schedules asksLateInAPause has.
const pauseSchedules = 60

// asksLateInAPause has the player ask for the lock at the end of a pause of the leader,
// and keep it for a while. The pause is of about the time that the session has left: it
// reports whether that has ended.
func (p *player) asksLateInAPause(leader *zktest.Server, schedule int64) (ended bool) {
	first := p.ID()
	leader.Freeze()
	time.Sleep(timeout/2 + time.Duration(schedule)*timeout/(2*pauseSchedules))
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if h, err := p.take(context.Background()); err == nil {
			time.Sleep(timeout)
			p.give(h)
		}
	}()
	time.Sleep(timeout / 10)
	leader.Thaw()
	<-asked
	return p.ID() != first
}

// slowServers are servers that take a while, other ones for each seed.
func slowServers(seed int64) []zktest.Option {
	return []zktest.Option{
		zktest.WithSeed(seed), zktest.WithTickTime(timeout / 2), zktest.WithSyncLimit(10),
		zktest.WithServerLatency(0, time.Millisecond), zktest.WithDiskLatency(0, time.Millisecond),
	}
}

// A write that took as long as a pause does not make the next one that does quick.
func TestF22ALockAskedForInASecondPauseIsNotGrantedByASessionThatEnds(t *testing.T) {
	ended := 0
	for seed := range int64(pauseSchedules) {
		play(t, 3, func(s *stage) {
			a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
			h := b.mustTake()
			mine, _ := a.server()
			leader := s.Leader()
			if mine == leader {
				require.NoError(t, b.give(h))
				return
			}
			next := c.waits(context.Background()) // a, behind, is not proved
			leader.Freeze()
			ctx, cancel := context.WithCancel(context.Background())
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				_, err := a.take(ctx)
				require.Error(t, err)
			}()
			time.Sleep(timeout / 5)
			leader.Thaw()
			time.Sleep(timeout / 2)
			cancel()
			<-asked
			require.NoError(t, b.give(h))
			require.NoError(t, c.give(<-next))
			time.Sleep(timeout)

			if a.asksLateInAPause(leader, seed) {
				ended++
			}
		}, slowServers(seed)...)
	}
	require.Positive(t, ended, "no schedule came near")
}

// A pause in the first proof that follows another is not what proofs take.
func TestF22ALockAskedForInAPauseIsNotGrantedByASessionThatEndsIfAnotherPauseWasInALaterProof(t *testing.T) {
	const roundTrip = timeout / 256
	ended := 0
	for seed := range int64(pauseSchedules) {
		play(t, 3, func(s *stage) {
			a := s.enter("a")
			a.moveToFollower()
			leader := s.Leader()
			time.Sleep(timeout)
			h := a.mustTake()
			time.Sleep(timeout / 32) // in which it is proved once
			proof := s.HoldRequest(zktest.OpMulti)
			<-proof.Struck()
			leader.Freeze()
			proof.Release()
			time.Sleep(timeout / 8)
			given := make(chan error, 1)
			go func() { given <- a.give(h) }()
			time.Sleep(timeout / 32)
			leader.Thaw()
			require.NoError(t, <-given)
			time.Sleep(timeout)

			if a.asksLateInAPause(leader, seed) {
				ended++
			}
		}, append(slowServers(seed), zktest.WithLatency(roundTrip/2, roundTrip/2))...)
	}
	require.Positive(t, ended, "no schedule came near")
}

func TestF12TheFirstLookOfAHolderThatWasStoppedSaysThatTheLockIsLost(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		require.True(s, h.Valid())
		a.sleep(timeout * 97 / 100) // no timer of it has run yet
		require.False(s, h.Valid())
		require.ErrorIs(s, h.Err(), zklock.ErrLost)
		require.ErrorIs(s, a.give(h), zklock.ErrLost)
	})
}

// A hold whose proofs go unanswered is lost while the leader, which might end every
// session as soon as it goes on, is still paused.
func TestF22AHoldIsLostBeforeAPausedLeaderGoesOn(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		time.Sleep(timeout)
		leader := s.Leader()
		leader.Freeze()
		start := time.Now()
		<-h.Lost()
		require.Less(t, time.Since(start), timeout*3/5+tick/10)
		leader.Thaw()
		require.NoError(t, a.give(a.mustTake()))
	}, zktest.WithSyncLimit(10))
}

// A write of the last moments of a pause is quick, and older touches than it seems
// have reached the leader: the others wait at the follower, which is cut off before
// the leader can ask for them.
func TestF22AHoldIsLostInTimeWhenAFollowerIsCutOffAsItsLeaderGoesOn(t *testing.T) {
	schedules, least := 0, timeout
	for seed := range int64(*ensembles) {
		for _, ticks := range []time.Duration{2, 3, 4, 8} {
			for _, pause := range []time.Duration{timeout / 8, timeout / 4, 7 * timeout / 24, timeout / 3, 2 * timeout / 5, timeout / 2} {
				for _, begun := range []time.Duration{0, timeout / 16} {
					for _, last := range []time.Duration{time.Millisecond, 4 * time.Millisecond} {
						least = min(least, cutOffAfterAPause(t, seed, ticks, begun, pause, last))
						schedules++
					}
				}
			}
		}
	}
	t.Logf("%d schedules: lost at least %v before the session's end", schedules, least)
}

// cutOffAfterAPause pauses the leader for so long after a proof of a hold, and has
// the holder's session write shortly before the end. It returns how long after its
// loss the hold's node went.
func cutOffAfterAPause(t *testing.T, seed int64, ticks, begun, pause, last time.Duration) (margin time.Duration) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		a.moveToFollower()
		other, err := zklock.New(a.Session, "/other")
		require.NoError(s, err)
		require.NoError(s, other.LockContext(context.Background()))
		require.NoError(s, other.UnlockContext(context.Background()))
		h := a.mustTake()
		gone := s.gone(h.Node())
		ctx, cancel := context.WithCancel(context.Background())
		go readAlong(ctx, a.Session) // which the follower answers alone
		time.Sleep(timeout)
		mine, others := a.server()
		leader := s.Leader()
		proof := s.HoldReply(zktest.OpMulti)
		<-proof.Struck()
		proof.Release()
		time.Sleep(begun)

		leader.Freeze()
		time.Sleep(pause - last)
		asked := make(chan error, 1)
		go func() { asked <- other.LockContext(ctx) }()
		time.Sleep(last)
		leader.Thaw()
		s.Block(mine, leader)
		a.place.Block(zktest.ToServer, others...)

		<-h.Lost()
		lost := time.Now()
		<-gone
		margin = time.Since(lost)
		s.Heal()
		a.place.Unblock()
		cancel()
		<-asked
	}, zktest.WithSeed(seed), zktest.WithTickTime(timeout/ticks), zktest.WithSyncLimit(20), zktest.WithServerLatency(0, time.Millisecond))
	return margin
}
