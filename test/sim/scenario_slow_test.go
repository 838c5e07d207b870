package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestF19AHungServerCostsNoHoldWhileAnotherAnswers(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		a.moveToFollower()
		mine, _ := a.server()
		mine.Freeze()
		time.Sleep(anAge)
		require.NoError(t, h.Err())
		mine.Thaw()
		require.NoError(t, a.give(h))
	})
}

// The first proof over a new connection takes a round trip as the handshake did, and that
// may be more than half of what the lease has left.
func TestF19AHungServerCostsNoHoldWhileAnotherAnswersFromFarAway(t *testing.T) {
	const roundTrip, moments = timeout / 25, 6
	for moment := range moments {
		play(t, 5, func(s *stage) {
			a := s.enter("a")
			a.delay(roundTrip)
			a.moveToFollower()
			h := a.mustTake()
			time.Sleep(timeout + time.Duration(moment)*timeout/moments)
			mine, _ := a.server()
			mine.Freeze()
			time.Sleep(timeout)
			require.NoError(t, h.Err())
			mine.Thaw()
			require.NoError(t, a.give(h))
		}, zktest.WithSyncLimit(10), zktest.WithServerLatency(0, time.Millisecond), zktest.WithDiskLatency(timeout/400, timeout/200))
	}
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
					trip = timeout / 13
				}
				a.delay(trip)
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

// A waiter slept for longer after a proof than the proof's lease was, since many
// before had failed, and was never secured; or for so long that each proof that was not
// quick was in doubt anew.
func TestAProofAfterManyThatFailedIsInTime(t *testing.T) {
	const short, times = timeout / 4, 12 // what the pauses come to differs
	for range times {
		secureAfterFailures(t, short, 0)
		secureAfterFailures(t, short, short/13)
	}
}

func secureAfterFailures(t *testing.T, timeout, trip time.Duration) {
	t.Helper()
	play(t, 1, func(s *stage) {
		a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
		held := a.mustTake()
		ctx, cancel := context.WithCancel(context.Background())
		between := b.waits(ctx)
		waiting := c.waits(context.Background())
		time.Sleep(4 * timeout) // c is third and proves nothing
		cancel()
		require.Nil(t, <-between)
		for range 8 {
			slow := s.HoldReply(zktest.OpMulti, zktest.OnClient(c.place))
			<-slow.Struck()
			defer slow.Release()
		}
		require.NoError(t, a.give(held))
		for late := time.After(anAge); ; {
			write := s.HoldReply(zktest.OpMulti, zktest.OnClient(c.place))
			select {
			case h := <-waiting:
				write.Release()
				require.NoError(t, c.give(h))
				return
			case <-write.Struck():
				time.Sleep(trip)
				write.Release()
			case <-late:
				t.Error("never secured")
				write.Release()
				return
			}
		}
	}, zktest.WithTickTime(timeout/2), zktest.WithSessionTimeouts(timeout, timeout))
}
