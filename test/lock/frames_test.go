package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// shortFrames is the jute.maxbuffer of servers whose operator has lowered it.
const shortFrames = 4096

// leaves checks that of so many places in a queue, which end together, nothing is left, and that
// holds of so many locks outlive that.
func leaves(t *testing.T, s *zklock.Session, other *zk.Conn) {
	const many = 200
	var held []*zklock.Hold
	for i := range many {
		l, err := zklock.New(s, fmt.Sprintf("/held-%d", i))
		require.NoError(t, err)
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		held = append(held, h)
	}
	l, err := zklock.New(s, "/queue")
	require.NoError(t, err)
	first, err := l.Acquire(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range many {
		calls.Go(func() {
			_, err := l.Acquire(ctx)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	children := func() int {
		names, _, err := other.Children("/queue")
		require.NoError(t, err)
		return len(names)
	}
	require.Eventually(t, func() bool { return children() == 1+many }, patience, 10*time.Millisecond)
	found, err := zklock.Inspect(t.Context(), s, "/queue")
	require.NoError(t, err)
	require.Len(t, found, 1+many, "a longer answer comes")
	cancel()
	calls.Wait()
	require.Eventually(t, func() bool { return children() == 1 }, patience, 10*time.Millisecond, "they are deleted")
	for _, h := range append(held, first) {
		require.NoError(t, h.Err())
		require.NoError(t, h.Release(t.Context()))
	}
}

func TestRequestsGetShorterWhereServersTakeNoLongOnes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		leaves(t, b.session("mine"), b.session("other").Conn())
		require.LessOrEqual(t, b.server.Requests()[zktest.OpConnect], 2+4, "a quarter each time")
	}, zktest.WithMaxBuffer(shortFrames))
}

func TestRequestsGetShorterWhereARealServerTakesNoLongOnes(t *testing.T) {
	t.Parallel()
	skipIfExempt(t)
	e, err := apachezk.Start(t.Context(), apachezk.Config{JVM: []string{fmt.Sprintf("-Djute.maxbuffer=%d", shortFrames)}})
	require.NoError(t, err)
	t.Cleanup(func() { e.Stop() })
	at := siteAt(t, e.Server(0).Addr())
	s := at.session()
	leaves(t, s, at.conn)
	requireTooLong(t, s)
}

// requireTooLong checks that a request that cannot be split is an error, and a shorter one none.
func requireTooLong(t *testing.T, s *zklock.Session) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := zklock.New(s, "/long", zklock.WithData(make([]byte, 2*shortFrames)))
	require.NoError(t, err)
	_, err = l.Acquire(ctx)
	require.ErrorIs(t, err, zk.ErrShortBuffer)
	require.ErrorContains(t, err, "jute.maxbuffer")
	permits, err := zklock.NewSemaphore(s, "/permits", 100)
	require.NoError(t, err)
	_, err = permits.Acquire(ctx, 100)
	require.ErrorContains(t, err, "jute.maxbuffer")
	h, err := permits.Acquire(ctx, 5)
	require.NoError(t, err)
	require.NoError(t, h.Release(ctx))
}

func TestARequestThatCannotBeSplitIsAnErrorThatNamesTheLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		before := b.server.Requests()[zktest.OpConnect]
		requireTooLong(t, s)
		hangUps := b.server.Requests()[zktest.OpConnect] - before
		require.LessOrEqual(t, hangUps, 8)
		requireTooLong(t, s)
		require.Equal(t, before+hangUps, b.server.Requests()[zktest.OpConnect], "it is known by now")
	}, zktest.WithMaxBuffer(shortFrames))
}

// A server that is killed with a long request under way says nothing of what it takes.
func TestALongRequestWithoutAnAnswerMayBeChance(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l, err := zklock.New(s, b.path, zklock.WithData(make([]byte, 100_000)))
		require.NoError(t, err)
		for range 2 {
			b.server.DropRequest(zktest.OpCreate)
			h, err := l.Acquire(t.Context())
			require.NoError(t, err)
			require.NoError(t, h.Release(t.Context()))
		}
	})
}
