package client

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/virtual"
)

func TestACallWaitsWhileSixtyFourOthersHaveLeftSomethingBehind(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		finish := make(chan struct{})
		left := func(n int) {
			for range n {
				c.CleanUp(func() { <-finish })
			}
		}
		left(63)
		require.NoError(t, c.MakeRoom(t.Context()))
		left(1)
		began := time.Now()
		over, v := c.LogStalls(t.Context(), "/lock")
		defer v.End()
		ctx, cancel := context.WithTimeout(over, time.Minute)
		defer cancel()
		require.ErrorIs(t, c.MakeRoom(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(began))

		left(1)
		var room []chan error
		for range 2 {
			made := make(chan error, 1)
			room = append(room, made)
			go func() { made <- c.MakeRoom(over) }()
		}
		synctest.Wait()
		require.Equal(t, "the nodes of earlier calls to be deleted", v.step)
		fewer := c.cleanups.fewer
		finish <- struct{}{}
		synctest.Wait()
		require.Empty(t, room[0], "sixty-four are left")
		require.True(t, fewer == c.cleanups.fewer && !latch.IsClosed(fewer), "nobody is woken for nothing")
		finish <- struct{}{}
		for _, made := range room {
			require.NoError(t, <-made)
		}
		finish <- struct{}{} // when nobody waits
		close(finish)
		synctest.Wait()
		require.Zero(t, c.cleanups.count)
	})
}

func TestWhoWaitsForRoomEndsWithTheSession(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		c.cleanups.count = maxUnclean
		time.AfterFunc(time.Second, func() { c.cancel(errClosing) })
		require.ErrorIs(t, c.MakeRoom(t.Context()), ErrClosed)
	})
}

func TestAClosedSessionCleansNothingUp(t *testing.T) {
	c, cleaned := unconnected(t, slog.New(slog.DiscardHandler)), make(chan struct{})
	c.life.end()
	c.CleanUp(func() { close(cleaned) })
	c.work.Wait()
	require.False(t, latch.IsClosed(cleaned))
	require.Zero(t, c.cleanups.count)
}
