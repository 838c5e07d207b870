package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestF13AHolderThatIsCutOffIsToldBeforeTheServerEndsItsSession(t *testing.T) {
	for _, way := range [][]zktest.Direction{{zktest.ToServer}, {zktest.ToClient}, {zktest.ToServer, zktest.ToClient}} {
		play(t, 3, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			h := a.mustTake()
			waiting := b.waits(context.Background())
			for _, w := range way {
				a.place.Block(w)
			}
			cut := time.Now()
			<-h.Lost()
			require.Less(t, time.Since(cut), timeout)
			require.False(t, h.Valid())
			require.NoError(t, b.give(<-waiting)) // the referee has seen that a was told first
			a.place.Unblock()
		})
	}
}

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
			a.place.Delay(zktest.ToServer, roundTrip/2, roundTrip/2)
			a.place.Delay(zktest.ToClient, roundTrip/2, roundTrip/2)
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

func TestF20WhenAllServersHangCtxAndLeaseStillEnd(t *testing.T) {
	play(t, 3, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		h := a.mustTake()
		for _, server := range s.Servers() {
			server.Freeze()
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, b.LockContext(ctx), context.DeadlineExceeded)
		require.Less(t, time.Since(start), 300*time.Millisecond+soon)
		<-h.Lost()
		require.Less(t, time.Since(start), timeout)
		for _, server := range s.Servers() {
			server.Thaw()
		}
		require.NoError(t, b.give(b.mustTake()))
		s.empty(timeout)
	})
}

func TestF23AFollowerThatIsCutOffWithItsClientCostsTheHoldInTime(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		a.moveToFollower()
		time.Sleep(anAge) // idle, so that the last touch may be old
		h := a.mustTake()
		mine, others := a.server()
		s.Partition(mine)
		a.place.Block(zktest.ToServer, others...)
		<-h.Lost()
		s.Heal()
		a.place.Unblock()
	}, zktest.WithTickTime(timeout/2))
}

func TestF28TheLeaseFollowsTheTimeoutThatTheServersGrant(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		require.Equal(t, time.Second, a.Session.Timeout())
		h := a.mustTake()
		a.cutOff()
		start := time.Now()
		<-h.Lost()
		require.Less(t, time.Since(start), time.Second)
		a.place.Unblock()
	}, zktest.WithSessionTimeouts(100*time.Millisecond, time.Second))
}

func TestF29AnOperatorsDeleteReachesTheHolder(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		time.Sleep(100 * time.Millisecond)
		s.referee.excuse(h.Node(), byOperator)
		require.NoError(t, a.Conn().Delete(h.Node(), -1))
		start := time.Now()
		<-h.Lost()
		require.Less(t, time.Since(start), soon)
	})
}

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

// ClickHouse Keeper gives a client that reconnects another session without a word.
func TestF36AnotherSessionIDWithoutAnExpiredEventCostsTheHold(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, forget := s.enterForgotten("a")
		h := a.mustTake()
		first := a.ID()
		forget.Store(true)
		a.place.Cut()
		<-h.Lost()
		time.Sleep(time.Second)
		require.NotEqual(t, first, a.ID())
		next := a.waits(context.Background())
		require.NoError(t, a.give(<-next))
	})
}

// go-zookeeper's channel of events has room for six, and what does not fit is dropped.
func TestF21TheEndOfASessionIsNoticedBehindManyEvents(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		h := a.mustTake()
		for i := range 100 {
			node := fmt.Sprint("/node", i)
			_, err := b.Conn().Create(node, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			_, _, _, err = a.Conn().GetW(node)
			require.NoError(t, err)
			_, err = b.Conn().Set(node, nil, -1)
			require.NoError(t, err)
		}
		a.expire()
		start := time.Now()
		<-h.Lost()
		require.Less(t, time.Since(start), soon)
		require.NoError(t, a.give(a.mustTake()))
	})
}
