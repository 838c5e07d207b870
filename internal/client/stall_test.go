package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
)

func TestACallThatMayWaitForEverHasALogOfItsStalls(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ctx, v := c.LogStalls(t.Context(), "/lock")
	require.True(t, ctx == context.Context(v))
	again, none := c.LogStalls(ctx, "/lock")
	require.True(t, again == ctx)
	require.Nil(t, none, "one is enough")
	none.End()
	ctx, none = c.LogStalls(limited, "/lock")
	require.True(t, ctx == limited)
	require.Nil(t, none, "it has an error")
	_, other := c.LogStallsForAll(limited, "/lock")
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
	c.Pulse.Start()
	t.Cleanup(c.Pulse.Stop)
	return c, b
}

// nowhere is what the log says of a call.
func nowhere(path, cause string) []string {
	return []string{"WARN zklock: a call for a lock gets nowhere path=" + path + " cause=" + cause}
}

// beat is how late something may be told, in a session of 10 s.
const beat = 625 * time.Millisecond

func TestACallThatGetsNowhereIsToldOnceWithWhatItWaitsFor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		c.timeout.Store(int64(16 * time.Second))
		ctx, v := c.LogStalls(t.Context(), "/lock")
		WaitsFor(ctx, "a list")
		time.Sleep(3 * time.Second)
		other, second := c.LogStalls(t.Context(), "/second")
		WaitsFor(other, "luck")
		_, third := c.LogStalls(t.Context(), "/third")
		pass(13*time.Second - 1)
		require.Empty(t, b.all())
		pass(beat)
		require.Equal(t, nowhere("/lock", "it waits for a list"), b.all())
		third.End()
		pass(3*time.Second - beat)
		require.Empty(t, b.all())
		pass(beat)
		require.Equal(t, nowhere("/second", "it waits for luck"), b.all())
		pass(time.Hour)
		require.Empty(t, b.all())
		v.End()
		second.End()

		c.timeout.Store(int64(time.Second))
		ctx, v = c.LogStalls(t.Context(), "/lock")
		WaitsFor(ctx, "luck")
		FailedTry(ctx, errors.New("no luck"))
		pass(10*time.Second - 1)
		require.Empty(t, b.all(), "ten seconds at least")
		pass(beat)
		require.Equal(t, nowhere("/lock", "it waits for luck; the last try: no luck"), b.all())
		v.End()
	})
}

// asksBack is an error whose text is to be had when another call for a lock is over.
type asksBack struct{ other *StallLog }

func (e asksBack) Error() string {
	e.other.End()
	return "a user's"
}

func TestTheTextOfAUsersErrorIsAskedForWhenNoCallWaitsForIt(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		_, other := c.LogStalls(t.Context(), "/other")
		c.link = nil
		c.Failed(asksBack{other})
		_, v := c.LogStalls(t.Context(), "/lock")
		defer v.End()
		pass(11 * time.Second)
		told := b.all()
		require.Len(t, told, 1)
		require.Contains(t, told[0], "there is no connection: a user's")
	})
}

func TestACallInTheQueueIsNotTold(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		ctx, v := c.LogStalls(t.Context(), "/lock")
		WaitsFor(ctx, "luck")
		FailedTry(ctx, errors.New("no luck"))
		Queues(ctx, true)
		pass(time.Hour)
		require.Empty(t, b.all())
		Queues(ctx, false)
		pass(10*time.Second - 1)
		require.Empty(t, b.all(), "it has just been there")
		pass(beat)
		require.Equal(t, nowhere("/lock", "it waits for luck"), b.all(), "the last try is of before")
		v.End()
	})
}

func TestOneCallTellsForAllThatWantTheSameLock(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		_, first := c.LogStalls(t.Context(), "/lock")
		_, second := c.LogStalls(t.Context(), "/lock")
		pass(10*time.Second + beat)
		require.Len(t, b.all(), 1)
		pass(time.Hour)
		require.Empty(t, b.all())
		for v := range c.stalls.calls { // one of them, by chance
			if v == first {
				first, second = second, first
			}
		}
		Queues(first, true)
		pass(beat)
		require.Len(t, b.all(), 1, "one has got there, and the other has not")
		second.End()
		first.End()
		require.Empty(t, c.stalls.told)

		_, third := c.LogStalls(t.Context(), "/lock")
		pass(10*time.Second + beat)
		require.Len(t, b.all(), 1, "the others are over")
		_, fourth := c.LogStalls(t.Context(), "/lock")
		fourth.End()
		require.Same(t, third, c.stalls.told["/lock"], "what another has told it does not forget")
		third.End()
	})
}

func TestTheLackOfAConnectionIsToldOnceForAllUntilThereIsOne(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		l := c.Current()
		connection := func(l *wire.Link) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.link, c.failure = l, errors.New("nobody is there")
		}
		connection(nil)
		ctx, first := c.LogStalls(t.Context(), "/first")
		FailedTry(ctx, errors.New("no luck"))
		_, second := c.LogStalls(t.Context(), "/second")
		pass(10*time.Second + beat)
		lines := b.all()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "there is no connection: nobody is there")
		pass(10 * time.Second)
		require.Empty(t, b.all())
		connection(l)
		for v := range c.stalls.calls { // the one that was not told
			Queues(v, false)
		}
		pass(beat)
		connection(nil)
		pass(10 * time.Second)
		require.Len(t, b.all(), 1)
		first.End()
		second.End()
	})
}
