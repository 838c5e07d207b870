package client

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
)

// link returns a connection over which a request of so many bytes has no answer, behind one of so many
// that has; 0 for none.
func link(t *testing.T, unanswered, taken int) *wire.Link {
	t.Helper()
	l := unconnected(t, slog.New(slog.DiscardHandler)).connectedTo(t, io.EOF)
	t.Cleanup(func() { l.Close() })
	send := func(size int) {
		const head = 4 + 4 + 4 + 1 // its xid and kind, the length of the path, whether it watches
		r := Read(strings.Repeat("a", size-head))
		require.Equal(t, size, r.Size())
		l.Send(r)
		synctest.Wait()
	}
	if taken > 0 {
		send(taken)
		const noNode, event = -101, -1
		l.Conn.(*scripted).says = slices.Concat(numbers(16, math.MinInt32, 0, 0, noNode), numbers(28, event, 0, 0, 0, 1, 3, 0))
		_, err := l.Read(make([]byte, 100))
		require.NoError(t, err)
	}
	if unanswered > 0 {
		send(unanswered)
	}
	return l
}

func TestARequestIsTooLongOnWhichServersHangUpSeveralTimes(t *testing.T) {
	const long, half = 4096, 2048
	virtual.Test(t, func(t *testing.T) {
		b := new(book)
		c := unconnected(t, slog.New(b))
		hangUp := func(size int) { c.frames.ended(link(t, size, 0), true, c.Log) }
		forget := func() { c.frames.ended(link(t, 0, long), false, c.Log); c.frames.taken = 0 }
		knows := func(batch, refused, times int, because string) {
			t.Helper()
			require.Equal(t, batch, c.frames.batch(), because)
			require.Equal(t, refused, c.frames.refused, because)
			require.Equal(t, times, c.frames.times, because)
			synctest.Wait()
		}
		warned := func(times int) {
			t.Helper()
			synctest.Wait()
			require.Len(t, b.warnings(), times)
		}

		hangUp(shortestLong - 1)
		c.frames.ended(link(t, long, 0), false, c.Log)
		knows(maxBatch, 0, 0, "each server takes that, and nobody hung up")
		hangUp(shortestLong)
		knows(shortestLong/shrinks, shortestLong, 1, "it may be that")
		forget()
		knows(maxBatch, 0, 0, "a longer one was answered")

		hangUp(long)
		time.Sleep(apart - 1)
		hangUp(long)
		knows(long/shrinks, long, 1, "it was one and the same fault")
		warned(0)
		time.Sleep(time.Nanosecond)
		hangUp(half)
		knows(half/shrinks, half, 2, "the shorter one counts")
		warned(1)
		require.NoError(t, c.Fits(half), "it may have been chance")
		c.frames.last = c.frames.last.Add(-trust - 1)
		c.frames.ended(link(t, 0, 0), false, c.Log)
		knows(maxBatch, 0, 0, "it is long ago")
		for range 2 {
			hangUp(half)
			time.Sleep(apart)
		}
		warned(1)
		hangUp(long)
		knows(half/shrinks, half, noChance, "the shorter one still counts")
		warned(0)
		require.NoError(t, c.Fits(half-1))
		time.Sleep(trust)
		require.ErrorIs(t, c.Fits(half), zk.ErrShortBuffer)
		require.ErrorContains(t, c.Fits(half), "a request of 2048 bytes, and this one has 2048: their jute.maxbuffer is below that, ZooKeeper's own is 1048575")
		time.Sleep(time.Nanosecond)
		require.NoError(t, c.Fits(half), "it is tried once in a while")
		hangUp(half)
		knows(half/shrinks, half, noChance+1, "that it is refused is not forgotten")
		require.ErrorIs(t, c.Fits(half), zk.ErrShortBuffer)

		c.frames.ended(link(t, half, half), true, c.Log)
		knows(maxBatch, 0, 0, "as long a one was answered")
		c.frames.ended(link(t, half, 0), true, c.Log)
		knows(half/shrinks, half, 1, "another server may take less than the one before")
		time.Sleep(trust)
		c.frames.ended(link(t, 0, 0), false, c.Log)
		knows(half/shrinks, half, 1, "it is not long ago")
		time.Sleep(time.Nanosecond)
		c.frames.ended(link(t, 0, 0), false, c.Log)
		knows(maxBatch, 0, 0, "what may have been chance is forgotten")
		c.frames.refused = 2 * shrinks * maxBatch
		require.Equal(t, maxBatch, c.frames.batch(), "it is no longer for that")
	})
}

func TestAServerHangsUpIfItWasNeitherSilentNorCutOff(t *testing.T) {
	for _, err := range []error{io.EOF, errors.New("reset by peer"), zk.ErrConnectionClosed, &net.OpError{Err: errors.New("reset")}} {
		require.True(t, hungUp(err), "%v", err)
	}
	for _, err := range []error{net.ErrClosed, os.ErrDeadlineExceeded, &net.OpError{Err: os.ErrDeadlineExceeded}, fmt.Errorf("wrapped: %w", net.ErrClosed), wire.Stale{}} {
		require.False(t, hungUp(err), "%v", err)
	}
}
