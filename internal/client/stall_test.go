package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
)

func TestACallThatMayWaitForEverHasAWatchdog(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ctx, v := c.WatchOver(t.Context(), "/lock")
	require.True(t, ctx == context.Context(v))
	again, none := c.WatchOver(ctx, "/lock")
	require.True(t, again == ctx)
	require.Nil(t, none, "one is enough")
	none.End()
	ctx, none = c.WatchOver(limited, "/lock")
	require.True(t, ctx == limited)
	require.Nil(t, none, "it has an error")
	_, other := c.WatchOverAll(limited, "/lock")
	require.NotNil(t, other, "who waits for it has none")
	require.Len(t, c.stalls.calls, 2)
	v.End()
	other.End()
	require.Empty(t, c.stalls.calls)
	WaitsFor(limited, "nothing that is noted")
	FailedTry(limited, nil)
	Queues(limited, true)
}

// stalling is a client with a connection, whose log is read.
func stalling(t *testing.T) (*Client, *book) {
	b := new(book)
	c := unconnected(t, slog.New(b))
	c.link = new(wire.Link)
	return c, b
}

// nowhere is what the log says of a call.
func nowhere(path, cause string) []string {
	return []string{"WARN zklock: a call for a lock gets nowhere path=" + path + " cause=" + cause}
}

func TestACallThatGetsNowhereIsToldOnceWithWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		c.timeout.Store(int64(16 * time.Second))
		ctx, v := c.WatchOver(t.Context(), "/lock")
		WaitsFor(ctx, "a list")
		pass(16*time.Second - 1)
		require.Empty(t, b.all())
		pass(time.Nanosecond)
		require.Equal(t, nowhere("/lock", "it waits for a list"), b.all())
		pass(time.Hour)
		require.Empty(t, b.all())
		require.Nil(t, c.stalls.timer, "nothing is left to be told")
		v.End()

		c.timeout.Store(int64(time.Second))
		ctx, v = c.WatchOver(t.Context(), "/lock")
		WaitsFor(ctx, "luck")
		FailedTry(ctx, errors.New("no luck"))
		pass(10 * time.Second)
		require.Equal(t, nowhere("/lock", "it waits for luck; the last try: no luck"), b.all(), "ten seconds at least")
		v.End()
	})
}

func TestACallIsLookedAtWhenItsTimeComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		over := func(path string) *Watchdog {
			ctx, v := c.WatchOver(t.Context(), path)
			WaitsFor(ctx, "luck")
			return v
		}
		first := over("/first")
		time.Sleep(3 * time.Second)
		second := over("/second")
		time.Sleep(4 * time.Second)
		third := over("/third")
		pass(3 * time.Second)
		require.Equal(t, nowhere("/first", "it waits for luck"), b.all())
		second.End()
		pass(7*time.Second - 1)
		require.Empty(t, b.all())
		pass(time.Nanosecond)
		require.Equal(t, nowhere("/third", "it waits for luck"), b.all())
		first.End()
		third.End()
	})
}

// Looks cost, and calls that began together are told together.
func TestCallsAreNotLookedAtAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		_, first := c.WatchOver(t.Context(), "/first")
		time.Sleep(time.Millisecond)
		_, second := c.WatchOver(t.Context(), "/second")
		pass(10*time.Second + 49*time.Millisecond - 1)
		require.Len(t, b.all(), 1)
		pass(time.Nanosecond)
		require.Len(t, b.all(), 1)
		first.End()
		second.End()
	})
}

func TestACallInTheQueueIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		ctx, v := c.WatchOver(t.Context(), "/lock")
		WaitsFor(ctx, "luck")
		FailedTry(ctx, errors.New("no luck"))
		Queues(ctx, true)
		pass(time.Hour + 5*time.Second) // it is looked at each ten seconds
		require.Empty(t, b.all())
		Queues(ctx, false)
		pass(10*time.Second - 1)
		require.Empty(t, b.all(), "it has just been there")
		pass(time.Nanosecond)
		require.Equal(t, nowhere("/lock", "it waits for luck"), b.all(), "the last try is of before")
		v.End()
	})
}

func TestOneCallTellsForAllThatWantTheSameLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		ctx, first := c.WatchOver(t.Context(), "/lock")
		time.Sleep(time.Second)
		_, second := c.WatchOver(t.Context(), "/lock")
		pass(9 * time.Second)
		require.Len(t, b.all(), 1)
		pass(10 * time.Second)
		require.Empty(t, b.all())
		Queues(ctx, true)
		pass(10 * time.Second)
		require.Len(t, b.all(), 1, "one has got there, and the other has not")
		second.End()
		first.End()
		require.Empty(t, c.stalls.told)

		_, third := c.WatchOver(t.Context(), "/lock")
		pass(10 * time.Second)
		require.Len(t, b.all(), 1, "the others are over")
		_, fourth := c.WatchOver(t.Context(), "/lock")
		fourth.End()
		require.Same(t, third, c.stalls.told["/lock"], "what another has told it does not forget")
		third.End()
	})
}

func TestTheLackOfAConnectionIsToldOnceForAllUntilThereIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		c.link, c.failure = nil, errors.New("nobody is there")
		ctx, first := c.WatchOver(t.Context(), "/first")
		FailedTry(ctx, errors.New("no luck"))
		_, second := c.WatchOver(t.Context(), "/second")
		pass(10 * time.Second)
		lines := b.all()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "there is no connection: nobody is there")
		pass(10 * time.Second)
		require.Empty(t, b.all())
		c.stalls.connected()
		pass(10 * time.Second)
		require.Len(t, b.all(), 1)
		first.End()
		second.End()
	})
}

func TestAClosedSessionWatchesOverNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := stalling(t)
		c.stalls.stop()
		_, v := c.WatchOver(t.Context(), "/lock")
		require.Nil(t, c.stalls.timer)
		v.End()
		c, b := stalling(t)
		_, v = c.WatchOver(t.Context(), "/lock")
		c.stalls.stop()
		require.False(t, c.stalls.timer.Stop(), "it is stopped")
		pass(time.Hour)
		require.Empty(t, b.all())
		_, other := c.WatchOver(t.Context(), "/other")
		defer other.End()
		c.stalls.find() // as a timer that has just fired
		require.Nil(t, c.stalls.timer)
		v.End()
	})
}
