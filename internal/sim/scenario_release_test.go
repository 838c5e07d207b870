package sim

import (
	"context"
	"testing"
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
		require.Len(t, s.referee.nodes(), 1)
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
