package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// go-zookeeper keeps the zxid of the last reply, not of the last event, and so it may
// go on at a server that has not applied yet what an event has told.

// semaphore is a semaphore of one permit for a player.
func (p *player) semaphore() *zklock.Semaphore {
	p.stage.Helper()
	sem, err := zklock.NewSemaphore(p.Session, permitsPath, 1)
	require.NoError(p.stage, err)
	return sem
}

// takes returns a take of one permit.
func takes(sem *zklock.Semaphore) func(context.Context) (*zklock.Hold, error) {
	return func(ctx context.Context) (*zklock.Hold, error) { return sem.Acquire(ctx, 1) }
}

// onlyAtALaggard makes the player's next connection one to a follower that applies
// what is committed from now on late.
func (p *player) onlyAtALaggard() {
	p.stage.Helper()
	mine, others := p.server()
	mine.Refuse(true)
	for _, other := range others {
		if other == p.stage.Leader() {
			other.Refuse(true)
		} else {
			other.Lag(timeout / 8)
		}
	}
}

// allCaughtUp ends what onlyAtALaggard began.
func (s *stage) allCaughtUp() {
	for _, server := range s.Servers() {
		server.Lag(0)
		server.Refuse(false)
	}
}

func TestF04ATurnThatAnEventGaveCountsThePermitsThatWereTakenBefore(t *testing.T) {
	play(t, 3, func(s *stage) {
		b := s.enter("b")
		b.moveToFollower()
		mine, _ := b.server()
		a := s.enterAt("a", []string{mine.PipeAddr()})
		taking := s.HoldRequest(zktest.OpMulti, zktest.OnClient(a.place), zktest.OnPath(permitsPath+"/leases/"))
		first := a.waitsBy(context.Background(), takes(a.semaphore()))
		<-taking.Struck()
		second := b.waitsBy(context.Background(), takes(b.semaphore()))
		// While b's proof is under way none goes ahead of its list on the next connection.
		proof := s.HoldRequest(zktest.OpMulti, zktest.OnClient(b.place))
		<-proof.Struck()

		b.onlyAtALaggard()
		taking.Release()
		held := <-first
		synctest.Wait() // b has been told that its turn has come
		b.place.Cut()
		select {
		case <-second:
			require.Error(s, held.Err(), "two permits of one are out")
		case <-time.After(timeout):
		}
		s.allCaughtUp()
		proof.Release()
		require.NoError(s, held.Release(context.Background()))
		require.NoError(s, (<-second).Release(context.Background()))
		s.empty(time.Second)
	})
}

// Servers that are slow all the time, as those of another continent are, commit one
// write after the other nevertheless.
func TestAHoldOutlivesServersThatAreSlowAllTheTime(t *testing.T) {
	const phases = 10 // of the client's pings
	for i := range phases {
		for _, first := range []bool{true, false} {
			play(t, 3, func(s *stage) {
				a := s.enter("a")
				h := a.mustTake()
				trip := timeout / 12
				if first {
					require.NoError(t, a.give(h))
					trip = timeout / 17
				}
				a.place.Delay(zktest.ToServer, trip/2, trip/2)
				a.place.Delay(zktest.ToClient, trip/2, trip/2)
				time.Sleep(3*timeout + timeout*time.Duration(i)/(3*phases))
				if first {
					h = a.mustTake()
				}
				time.Sleep(anAge)
				require.NoError(t, h.Err())
				require.NoError(t, a.give(h))
			})
		}
	}
}
