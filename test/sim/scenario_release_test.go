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

func TestF09ADeleteWhoseReplyIsLostIsSuccess(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		s.DropReply(zktest.OpDelete)
		require.NoError(t, a.give(h))
		s.empty(0)
		require.NoError(t, h.Release(context.Background()))
		require.NoError(t, a.give(a.mustTake()))
	})
}

func TestF10AnUnlockWhileDisconnectedIsCarriedOutLater(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		a.Lock()
		s.Server(0).Refuse(true)
		a.place.Cut()
		time.Sleep(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, a.UnlockContext(ctx), context.DeadlineExceeded)
		require.Less(t, time.Since(start), 100*time.Millisecond+soon)
		require.Len(t, s.checker.nodes(), 1)
		s.Server(0).Refuse(false)
		s.empty(timeout)
	})
}

func TestF10AnUnlockWhileDisconnectedEndsWithTheSessionAtTheLatest(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		a.Lock()
		a.cutOff()
		a.place.Cut()
		time.Sleep(10 * time.Millisecond)
		start := time.Now()
		a.Unlock()
		require.Less(t, time.Since(start), soon)
		s.empty(timeout + tick)
		a.place.Unblock()
	})
}

func TestF37CloseWhileDisconnectedIsQuickAndLeavesNothing(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		a.Lock()
		waiting := make(chan error)
		go func() { waiting <- a.LockContext(context.Background()) }()
		a.cutOff()
		a.place.Cut()
		time.Sleep(time.Second)
		start := time.Now()
		require.Error(t, a.Session.Close(), "nobody has confirmed it")
		require.Less(t, time.Since(start), 3*time.Second)
		require.ErrorIs(t, <-waiting, zklock.ErrClosed)
		s.empty(timeout + tick)
	})
}

func TestF37CloseDoesNotWaitForARequestThatNobodyAnswers(t *testing.T) {
	const timeout = time.Minute // after which the client itself gives the server up
	play(t, 1, func(s *stage) {
		a := s.enterFor("a", s.PipeAddrs(), timeout)
		h := a.mustTake()
		unanswered := s.HoldReply(zktest.OpDelete, zktest.OnClient(a.place))
		waiting := make(chan error)
		go func() { waiting <- a.give(h) }()
		<-unanswered.Struck()
		start := time.Now()
		require.Error(s, a.Session.Close(), "nobody has confirmed it")
		require.Less(s, time.Since(start), 3*time.Second)
		<-waiting
		unanswered.Release()
		s.empty(timeout + tick)
	}, zktest.WithSessionTimeouts(timeout, timeout))
}

// A successor within the session has no watch on its own node at first. One that was
// handed the lock though an operator has deleted its node loses it before anybody
// else can have it.
func TestASuccessorWhoseNodeIsGoneLosesTheLockBeforeTheNextIsGranted(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, x, operator := s.enter("a"), s.enter("x"), s.enter("operator")
		first := a.mustTake()
		created := s.created()
		second := make(chan *zklock.Hold, 1)
		go func() {
			h, err := a.Acquire(context.Background())
			if err != nil {
				s.Error(err)
			}
			second <- h
		}()
		synctest.Wait()
		require.Equal(s, created+1, s.created())
		third := x.waits(context.Background())
		for _, node := range s.checker.nodes() {
			if n, _ := contender(node); n == 1 {
				s.checker.excuse(node, byOperator)
				require.NoError(s, operator.Conn().Delete(node, -1))
			}
		}
		require.NoError(s, a.give(first))
		next := <-third
		synctest.Wait() // for the one that was handed the lock, if it was
		select {
		case handed := <-second:
			require.ErrorIs(s, handed.Err(), zklock.ErrLost)
			require.NoError(s, x.give(next))
		default: // it knew in time to take a new place in the queue
			require.NoError(s, x.give(next))
			require.NoError(s, a.give(<-second))
		}
		s.empty(time.Second)
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

// Nothing is written until the last of the credentials has been answered.
func TestUnlockDoesNotWaitForTheSecondOfTwoLogins(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a", twoLogins...)
		a.Lock()
		first, second := s.HoldReply(zktest.OpAuth), s.HoldReply(zktest.OpAuth)
		s.CutSession(a.ID())
		<-first.Struck()
		first.Release()
		<-second.Struck()
		start := time.Now()
		a.Unlock()
		require.Less(s, time.Since(start), soon)
		second.Release()
		s.empty(time.Second)
	})
}
