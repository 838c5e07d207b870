package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestF15ASessionThatExpiresWhileItWaitsTakesANewPlace(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		waiting := b.waits(context.Background())
		b.expire()
		time.Sleep(time.Second)
		require.Empty(t, waiting)
		require.NoError(t, a.give(held))
		got := <-waiting
		s.heldBy(b, got)
		require.NoError(t, b.give(got))
	})
}

func TestF16AWaiterThatDiesLetsNobodyPastTheHolder(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
		held := a.mustTake()
		ctx, cancel := context.WithCancel(context.Background())
		second, third := b.waits(ctx), c.waits(context.Background())
		b.expire()
		cancel()
		require.Nil(t, <-second)
		time.Sleep(time.Second)
		require.Empty(t, third)
		require.NoError(t, a.give(held))
		require.NoError(t, c.give(<-third))
	})
}

func TestF17APredecessorThatGoesBetweenListAndWatchIsNoticed(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		watch := s.HoldRequest(zktest.OpGetData, zktest.OnPath(held.Node()), zktest.OnClient(b.place))
		waiting := b.waits(context.Background())
		<-watch.Struck()
		lists := s.Requests()[zktest.OpGetChildren2]
		require.NoError(t, a.give(held))
		require.Empty(t, waiting)
		watch.Release()
		got := s.granted(waiting)
		require.Equal(t, lists, s.Requests()[zktest.OpGetChildren2], "that there is nothing to watch says enough")
		require.NoError(t, b.give(got))
		time.Sleep(time.Second)
		for path, n := range s.Server(0).Watches() {
			t.Errorf("%d watches are left on %s", n, path)
		}
	})
}

func TestAWaiterWhoseNodeGoesAheadOfItsPredecessorsWatchTakesANewPlace(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		watch := s.HoldRequest(zktest.OpGetData, zktest.OnPath(held.Node()), zktest.OnClient(b.place))
		waiting := b.waits(context.Background())
		<-watch.Struck()
		var own string
		for _, name := range s.Server(0).Children(path) {
			if node := path + "/" + name; node != held.Node() {
				own = node
			}
		}
		require.NoError(t, a.Conn().Delete(own, -1))
		require.NoError(t, a.give(held))
		watch.Release()
		got := <-waiting
		require.NotEqual(t, own, got.Node())
		require.NoError(t, b.give(got))
	})
}

func TestF18APredecessorThatGoesWhileTheWaiterIsDisconnectedIsNoticed(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		held := a.mustTake()
		waiting := b.waits(context.Background())
		b.place.Block(zktest.ToServer)
		b.place.Cut()
		require.NoError(t, a.give(held))
		time.Sleep(timeout / 4)
		b.place.Unblock()
		require.NoError(t, b.give(s.granted(waiting)))
	})
}

// The server sends the events of one transaction in any order, and go-zookeeper
// sets watches again in any order.
func TestAHolderAndAWaiterOfOneSessionExpireTogether(t *testing.T) {
	for seed := range int64(20) {
		play(t, 1, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			writer, err := zklock.NewRW(a.Session, path) // whom no Locker hands its lock to
			require.NoError(t, err)
			held := a.mustTake()
			ctx, cancel := context.WithCancel(context.Background())
			waiting := a.waitsBy(ctx, writer.Acquire)
			behind := b.waits(context.Background())
			time.Sleep(100 * time.Millisecond)
			a.expire()
			time.Sleep(10 * time.Millisecond)
			require.False(t, isOpen(held.Lost()))
			got := <-behind
			require.Empty(t, waiting)
			cancel()
			require.Nil(t, <-waiting)
			require.NoError(t, b.give(got))
		}, zktest.WithSeed(seed), zktest.WithLatency(time.Millisecond, 3*time.Millisecond))
	}
}

func TestAReleaseWakesWhoIsNextAndAtMostOneMore(t *testing.T) {
	for _, latency := range []time.Duration{0, 2 * time.Millisecond} { // the second is far away: see farAway
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			held := a.mustTake()
			var waiting []<-chan *zklock.Hold
			var waiters []*player
			for i := range 8 {
				p := s.enter(fmt.Sprint("w", i))
				waiters = append(waiters, p)
				waiting = append(waiting, p.waits(context.Background()))
			}
			time.Sleep(time.Second)
			for i, p := range waiters {
				before := s.Requests()
				if i == 0 {
					require.NoError(t, a.give(held))
				}
				h := <-waiting[i]
				time.Sleep(10 * latency)
				synctest.Wait()
				after := s.Requests()
				require.LessOrEqual(t, after[zktest.OpGetChildren2]-before[zktest.OpGetChildren2], 2, "lists for hand-over %d", i)
				require.NoError(t, p.give(h))
			}
		}, zktest.WithLatency(latency, latency))
	}
}

// Who is at the head of the queue by its list may wait for a second proof. When
// its connection is another one by then, and the lease was renewed for another lock
// of its session, nothing but a new list tells whether its node is still there.
func TestAHeadOfTheQueueByAListOfAnotherConnectionListsAnew(t *testing.T) {
	play(t, 3, func(s *stage) {
		a, operator := s.enter("a"), s.enter("operator")
		other, err := zklock.New(a.Session, "/other")
		require.NoError(s, err)
		renewal, err := other.Acquire(context.Background()) // so that both paths are there
		require.NoError(s, err)
		require.NoError(s, renewal.Release(context.Background()))
		require.NoError(s, a.give(a.mustTake()))
		time.Sleep(timeout)

		slow := s.HoldReply(zktest.OpCreate, zktest.OnPath(path+"/")) // which casts doubt on the lease
		first, second := s.DropReply(zktest.OpMulti), s.DropReply(zktest.OpMulti)
		waiting := a.waits(context.Background())
		<-slow.Struck()
		time.Sleep(timeout / 50)
		slow.Release()
		synctest.Wait()
		nodes := s.checker.nodes()
		require.Len(s, nodes, 1)
		require.NoError(s, operator.Conn().Delete(nodes[0], -1))
		<-first.Struck()
		<-second.Struck() // after which a pauses
		renewal, err = other.Acquire(context.Background())
		require.NoError(s, err)
		h := <-waiting
		require.NotNil(s, h)
		require.NotEqual(s, nodes[0], h.Node())
		require.NoError(s, a.give(h))
		require.NoError(s, renewal.Release(context.Background()))
	})
}
