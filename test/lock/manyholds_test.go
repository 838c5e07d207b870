package lock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/zktest"
)

// shortestUsual is the timeout of servers with ZooKeeper's own tick at the least.
const shortestUsual = 2 * time.Second

// holdMany takes so many locks below path.
func holdMany(t testing.TB, s *zklock.Session, path string, n int) []*zklock.Hold {
	t.Helper()
	const callers = 64
	held := make([]*zklock.Hold, n)
	var all sync.WaitGroup
	for from := range callers {
		all.Go(func() {
			for i := from; i < n; i += callers {
				held[i] = must(must(zklock.New(s, fmt.Sprintf("%s/%d", path, i))).Acquire(context.Background()))
			}
		})
	}
	all.Wait()
	return held
}

// cycle takes and gives back a lock so often a second until the test ends. It returns how often that was done.
func cycle(t *testing.T, s *zklock.Session, rate int) (done *atomic.Int64) {
	done = new(atomic.Int64)
	l := must(zklock.New(s, "/cycles"))
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		beat := time.NewTicker(time.Second / time.Duration(rate))
		defer beat.Stop()
		for ctx.Err() == nil {
			if l.LockContext(ctx) == nil {
				_ = l.UnlockContext(context.Background())
				done.Add(1)
			}
			<-beat.C
		}
	})
	t.Cleanup(func() { stop(); ended.Wait() })
	return done
}

// lost returns how many of the holds are.
func lost(held []*zklock.Hold) (n int) {
	for _, h := range held {
		if h.Err() != nil {
			n++
		}
	}
	return n
}

// After each cut one node has gone, and another says that its lock is asked back.
func TestAThousandHoldsOfASessionOutliveManyCutsAndHearWhatHasChangedMeanwhile(t *testing.T) {
	const n, cuts = 1000, 20
	inFarBubble(t, func(t *testing.T, b *bubble) {
		place := b.server.Client("holder")
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, shortestUsual, zklock.WithDialer(place.Dial)))
		defer s.Close()
		op := b.session("operator").Conn()
		held := holdMany(t, s, "/many", n)
		cycle(t, s, 200)
		time.Sleep(shortestUsual)
		reads := b.server.Requests()[zktest.OpGetData]
		for i := range cuts {
			place.Block(zktest.ToServer)
			place.Cut()
			gone, wanted := held[2*i], held[2*i+1]
			require.NoError(t, op.Delete(gone.Node(), -1))
			require.NoError(t, zklock.Revoke(t.Context(), b.session("asks"), fmt.Sprintf("/many/%d", 2*i+1)))
			place.Unblock()
			time.Sleep(shortestUsual / 4)
			require.ErrorIs(t, gone.Err(), zklock.ErrLost)
			require.True(t, latch.IsClosed(wanted.Revoked()))
			require.Equal(t, i+1, lost(held))
		}
		require.Less(t, b.server.Requests()[zktest.OpGetData]-reads, n, "all that stood is set again together")
	})
}
