package lock_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// What many callers in one process ask of the servers together.

// inFarBubble is inBubble with a server that does not answer at once.
func inFarBubble(t *testing.T, f func(t *testing.T, b *bubble), opts ...zktest.Option) {
	t.Helper()
	const delay = time.Millisecond
	virtual.Test(t, func(t *testing.T) {
		f(t, &bubble{t, zktest.NewServer(t, append(opts, zktest.WithLatency(delay, delay))...), "/lock"})
	})
}

// crowd has n goroutines wait for the lock in s.
func (b *bubble) crowd(ctx context.Context, s *zklock.Session, n int, pause time.Duration) {
	b.t.Helper()
	l := b.locker(s)
	for range n {
		go l.Acquire(ctx)
		time.Sleep(pause)
	}
}

// lists returns how many lists of children do is answered with, and what follows it.
func (b *bubble) lists(do func()) int {
	before := b.server.Requests()[zktest.OpGetChildren2]
	do()
	time.Sleep(longSession / 4)
	return b.server.Requests()[zktest.OpGetChildren2] - before
}

func TestACrowdThatEntersAtOnceSharesItsLists(t *testing.T) {
	const n = 200
	inFarBubble(t, func(t *testing.T, b *bubble) {
		held, err := b.locker(b.session("holder")).Acquire(t.Context())
		require.NoError(t, err)
		s := b.session("crowd")
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		require.LessOrEqual(t, b.lists(func() { b.crowd(ctx, s, n, 0) }), n/10, "at the start")
		require.Equal(t, 1+n, b.queue())
		expire := func() { require.True(t, b.server.ExpireSession(s.ID())) }
		require.LessOrEqual(t, b.lists(expire), n/10, "in the next session")
		require.Equal(t, 1+n, b.queue())
		require.NoError(t, held.Release(t.Context()))
	})
}

// None follows another of its session, so that each has to look at the queue.
func TestACrowdThatReconnectsSharesItsLists(t *testing.T) {
	const n = 100
	inFarBubble(t, func(t *testing.T, b *bubble) {
		held, err := b.locker(b.session("holder")).Acquire(t.Context())
		require.NoError(t, err)
		one, other := b.session("one"), b.session("other")
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		for range n {
			b.crowd(ctx, one, 1, 5*time.Millisecond)
			b.crowd(ctx, other, 1, 5*time.Millisecond)
		}
		require.Equal(t, 1+2*n, b.queue())
		require.LessOrEqual(t, b.lists(b.server.Cut), 2*n/10)
		require.NoError(t, held.Err())
		require.Equal(t, 1+2*n, b.queue())
	})
}

// A disk that is too slow for the lease fails every proof.
func TestACrowdBeginsTheLeaseByOneProofAtATime(t *testing.T) {
	const n, limit = 50, 4 * time.Second
	inFarBubble(t, func(t *testing.T, b *bubble) {
		var log lockedBuffer
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, limit, zklock.WithDialer(b.server.Dial),
			zklock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for i := range n {
			l, err := zklock.New(s, fmt.Sprintf("/lock%d", i))
			require.NoError(t, err)
			all.Go(func() { l.Acquire(ctx) })
		}
		all.Wait()
		require.NotZero(t, b.server.Requests()[zktest.OpMulti])
		require.Less(t, b.server.Requests()[zktest.OpMulti], 2*n)
		require.Less(t, strings.Count(log.String(), "cutting the connection"), 2*n)
	}, zktest.WithDiskLatency(limit*3/10, limit*3/10))
}

func TestAWriterThatPollsForReadingWhileTheServerHangsPilesUpNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		const polls, few = 500, 250
		l, err := zklock.NewRW(b.session("poller"), b.path)
		require.NoError(t, err)
		l.Lock()
		time.Sleep(time.Second)
		before := runtime.NumGoroutine()
		b.server.Freeze()
		for range polls {
			ok, err := l.TryRLockFor(t.Context(), longSession/16/polls)
			require.NoError(t, err)
			require.False(t, ok)
		}
		require.Less(t, runtime.NumGoroutine(), before+few)
		b.server.Thaw()
		require.NoError(t, l.RLockContext(t.Context()))
		require.NoError(t, l.RUnlockContext(t.Context()))
		require.NoError(t, l.UnlockContext(t.Context()))
		time.Sleep(time.Second) // for the rest of what was left
		require.Zero(t, b.queue())
	})
}

// A proof that stands behind the watches of a crowd may be too late for the lease.
func TestAfterAReconnectAProofGoesAheadOfTheWatches(t *testing.T) {
	const n = 100
	inFarBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("crowd")
		h, err := b.locker(s).Acquire(t.Context())
		require.NoError(t, err)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		b.crowd(ctx, s, n, 0)
		time.Sleep(longSession)
		watches := func() (set, read int) {
			requests := b.server.Requests()
			return requests[zktest.OpSetWatches], requests[zktest.OpGetData]
		}
		_, before := watches()
		proof := b.server.HoldRequest(zktest.OpMulti)
		b.server.Cut()
		<-proof.Struck()
		set, read := watches()
		require.Zero(t, set)
		require.Equal(t, before, read)
		proof.Release()
		time.Sleep(longSession / 4)
		set, read = watches()
		require.Equal(t, 1, set, "one request for all")
		require.Equal(t, before, read)
		require.Len(t, b.server.Watches(), 1+n)
		require.NoError(t, h.Err())
	})
}
