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
			require.NoError(t, b.give(<-waiting)) // the checker has seen that a was told first
			a.place.Unblock()
		})
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
		select {
		case <-h.Lost():
		case <-time.After(timeout - time.Since(start)):
			require.Fail(t, "the lease has not ended")
		}
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
		s.checker.excuse(h.Node(), byOperator)
		require.NoError(t, a.Conn().Delete(h.Node(), -1))
		start := time.Now()
		<-h.Lost()
		require.Less(t, time.Since(start), soon)
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
		time.Sleep(time.Second)
		require.NotEqual(t, first, a.ID())
		require.ErrorIs(t, h.Err(), zklock.ErrLost)
		next := a.waits(context.Background())
		require.NoError(t, a.give(s.granted(next)))
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

// A hold that waits in its process for the owner before it was returned though its
// node had been deleted between two connections.
func TestAHoldThatHadToWaitForAnotherOwnerIsProvedOnceMore(t *testing.T) {
	for late := range 20 {
		play(t, 1, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			a.Lock()
			a.expire()
			<-a.Lost()
			got := make(chan *zklock.Hold, 1)
			go func() {
				if a.LockContext(context.Background()) == nil {
					got <- a.Held()
					a.Unlock()
				}
				close(got)
			}()
			time.Sleep(timeout / 2) // it has a node, and waits for a's first owner
			nodes := s.checker.nodes()
			require.Len(t, nodes, 1)
			a.place.Block(zktest.ToServer)
			a.place.Cut()
			require.NoError(t, b.Conn().Delete(nodes[0], -1))
			a.place.Unblock()
			time.Sleep(time.Duration(late) * 5 * time.Millisecond)
			a.Unlock()
			h := <-got
			require.NotNil(t, h)
			require.NotEqual(t, nodes[0], h.Node())
		}, zktest.WithLatency(10*time.Millisecond, 10*time.Millisecond))
	}
}
