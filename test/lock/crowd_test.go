package lock_test

import (
	"context"
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
