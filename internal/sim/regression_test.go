package sim

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// What TestSimulation has found in the lock, each by a test of its own.

// A downgraded reader's node is younger than the nodes that queue behind its
// writer, whose owners' tokens must not be smaller.
func TestADowngradedReadersTokenIsBelowTheNextWriters(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		rw := a.readWrite()
		rw.Lock()
		writer := rw.Held().Token()
		waiting := b.waits(context.Background())
		rw.RLock()
		require.Equal(t, writer, rw.RHeld().Token())
		rw.Unlock()
		rw.RUnlock()
		next := <-waiting
		require.Greater(t, next.Token(), writer)
		require.NoError(t, b.give(next))
	})
}

// A cohort that looks around on a path that is gone asked for it without a pause.
func TestACohortDoesNotSpinOnAPathThatIsGone(t *testing.T) {
	for _, option := range []zklock.Option{zklock.WithRetention(anAge), zklock.WithHandoff(4)} {
		play(t, 1, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			shared, err := zklock.New(a.Session, path, option)
			require.NoError(t, err)
			h, err := shared.Acquire(context.Background())
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, b.Conn().Delete(h.Node(), -1))
			require.NoError(t, b.Conn().Delete(path, -1))
			before := s.Requests()[zktest.OpGetChildren2]
			<-h.Lost()
			require.LessOrEqual(t, s.Requests()[zktest.OpGetChildren2], before+2)
		})
	}
}

// One of several locks that is lost while the others are waited for is none that
// the caller has lost.
func TestSeveralLocksTryAgainWhenOneIsLostOnTheWay(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		first, err := zklock.New(a.Session, "/first")
		require.NoError(t, err)
		both := zklock.NewMulti(first, a.Locker)
		h := b.mustTake()
		go func() {
			time.Sleep(100 * time.Millisecond)
			for _, node := range s.referee.nodes() {
				if dirOf(node) == "/first" {
					require.NoError(t, b.Conn().Delete(node, -1))
				}
			}
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, b.give(h))
		}()
		ok, err := both.TryLockFor(context.Background(), anAge)
		require.NoError(t, err)
		require.True(t, ok)
		both.Unlock()
		s.empty(time.Second)
	})
}

// Within a session the lock went on from node to node past the end of the counter.
func TestNoLockIsHandedOnPastTheEndOfTheCounter(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		require.NoError(t, a.give(a.mustTake()))
		s.SetSequence(path, orderEnd-2)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				h := a.mustTake() // which the referee judges
				time.Sleep(10 * time.Millisecond)
				require.NoError(t, a.give(h))
			})
		}
		wg.Wait()
		s.empty(time.Second)
	})
}

// A server that takes longer to commit than a handshake was given made a client
// without a session open one after the other, and hear of none.
func TestASlowServerGetsAClientIntoItsFirstSession(t *testing.T) {
	play(t, 1, func(s *stage) {
		s.Client("a").Delay(zktest.ToClient, timeout/4, timeout/4)
		a := s.enter("a")
		require.Len(t, s.Sessions(), 1)
		require.NoError(t, a.give(a.mustTake()))
	})
}

// A caller that looks for the node of a lost create is told of Close as every
// other one is.
func TestACloseDuringTheSearchForALostCreateIsToldAsSuch(t *testing.T) {
	for range 20 { // a select picked at random
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			lost := s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
			result := make(chan error)
			go func() { result <- a.LockContext(context.Background()) }()
			<-lost.Struck()
			s.Server(0).Refuse(true)
			time.Sleep(100 * time.Millisecond)
			a.Session.Close()
			err := <-result
			require.ErrorIs(t, err, zklock.ErrClosed)
			require.NotErrorIs(t, err, context.Canceled)
			s.empty(timeout + tick)
		})
	}
}

// A handshake had an eighth of the timeout, also when the session that this was to
// save had ended, so that a client never heard of that from a server slower than this.
func TestASlowServerGetsAClientBackWhoseSessionHasExpired(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		first := a.ID()
		a.cutOff()
		time.Sleep(timeout + 2*tick)
		require.Empty(t, s.Sessions())
		a.place.Unblock()
		a.place.Delay(zktest.ToClient, timeout/4, timeout/4)
		require.NoError(t, a.give(a.mustTake()))
		require.NotEqual(t, first, a.ID())
	})
}

// While a client logs in anew nothing is written, and whoever gave something back
// waited for that: a semaphore's caller, whose turn ends with its ctx, and Unlock.
func TestNobodyWaitsForALoginToGiveSomethingBack(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a", zklock.WithAuth("digest", []byte("user:secret"))), s.enter("b")
		ofA, err := zklock.NewSemaphore(a.Session, permitsPath, 1)
		require.NoError(t, err)
		ofB, err := zklock.NewSemaphore(b.Session, permitsPath, 1)
		require.NoError(t, err)
		taken, err := ofB.Acquire(context.Background(), 1)
		require.NoError(t, err)
		a.Lock()
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error)
		go func() {
			_, err := ofA.Acquire(ctx, 1)
			result <- err
		}()
		time.Sleep(100 * time.Millisecond) // it has its turn, and waits for the permit

		login := s.HoldReply(zktest.OpAuth, zktest.OnClient(a.place))
		a.place.Cut()
		<-login.Struck()
		start := time.Now()
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		a.Unlock()
		require.Less(t, time.Since(start), soon)
		login.Release()
		require.NoError(t, taken.Release(context.Background()))
		s.empty(time.Second)
	})
}

// A waiter slept for longer after a proof than the proof's lease was, since many
// before had failed, and was never secured.
func TestAProofAfterManyThatFailedIsInTime(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
		held := a.mustTake()
		ctx, cancel := context.WithCancel(context.Background())
		between := b.waits(ctx)
		waiting := c.waits(context.Background())
		time.Sleep(timeout) // c is third and proves nothing
		cancel()
		require.Nil(t, <-between)
		for range 8 {
			slow := s.HoldReply(zktest.OpMulti, zktest.OnClient(c.place))
			<-slow.Struck()
			defer slow.Release()
		}
		require.NoError(t, a.give(held))
		select {
		case h := <-waiting:
			require.NoError(t, c.give(h))
		case <-time.After(anAge):
			t.Error("never secured")
		}
	}, zktest.WithTickTime(timeout/8), zktest.WithSessionTimeouts(timeout/4, timeout/4))
}

// Each lock had a third of the session timeout for itself.
func TestATryOfSeveralLocksHasOneDeadline(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		other, err := zklock.New(a.Session, "/other")
		require.NoError(t, err)
		several := zklock.NewMulti(a.Locker, other)
		require.True(t, several.TryLock()) // so that the paths are there
		several.Unlock()
		first := s.HoldReply(zktest.OpCreate, zktest.OnClient(a.place))
		over := make(chan struct{})
		go func() {
			defer close(over)
			<-first.Struck()
			time.Sleep(timeout / 5)
			second := s.HoldReply(zktest.OpCreate, zktest.OnClient(a.place))
			first.Release()
			<-second.Struck()
			time.Sleep(timeout / 2)
			second.Release()
		}()
		start := time.Now()
		require.False(t, several.TryLock())
		require.Less(t, time.Since(start), timeout/3+soon)
		<-over
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
			nodes := s.referee.nodes()
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
