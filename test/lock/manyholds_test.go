package lock_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
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

var manyHolds = flag.Int("holds", 0, "see that so many holds of one session outlive 20 cuts at a real server, as 10000 do")

func TestManyHoldsOfASessionOutliveManyCutsAtARealServer(t *testing.T) {
	t.Parallel()
	if *manyHolds == 0 {
		t.Skip("it measures: -holds says how many")
	}
	const cuts, rate = 20, 200
	e, err := apachezk.Start(t.Context(), apachezk.Config{TickTime: shortestUsual / 2})
	require.NoError(t, err)
	t.Cleanup(func() { e.Stop() })
	at := siteAt(t, e.Server(0).Addr())
	s := at.sessionVia(at.proxy.Addr(), shortestUsual)
	held := holdMany(t, s, at.path, *manyHolds)
	for _, beside := range []int{0, rate} {
		t.Run(fmt.Sprintf("%d cycles a second", beside), func(t *testing.T) {
			done := new(atomic.Int64)
			if beside > 0 {
				done = cycle(t, s, beside)
			}
			var heap uint64
			began := time.Now()
			for i := range cuts {
				cut := time.Now()
				at.proxy.Cut()
				eventually(t, "the watches to go", func() bool { return watchesAt(t, e.Server(0)) < *manyHolds })
				eventually(t, "the watches to be set again", func() bool { return watchesAt(t, e.Server(0)) >= *manyHolds-lost(held) })
				t.Logf("cut %d: watched again after %v, lost %d", i+1, time.Since(cut).Round(time.Millisecond), lost(held))
				<-time.After(shortestUsual / 4)
				if i == 1 {
					heap = heapInUse()
				}
			}
			t.Logf("lost %d; %.0f cycles a second; heap a hold and reconnect %.1f bytes", lost(held), float64(done.Load())/time.Since(began).Seconds(),
				(float64(heapInUse())-float64(heap))/float64(*manyHolds)/(cuts-2))
			require.Zero(t, lost(held))
		})
	}
}

// watchesAt returns how many watches the server has.
func watchesAt(t testing.TB, server *apachezk.Server) int {
	t.Helper()
	answer, err := server.FourLetter("wchs")
	require.NoError(t, err)
	_, total, _ := strings.Cut(answer, "Total watches:")
	n, err := strconv.Atoi(strings.TrimSpace(total))
	require.NoError(t, err)
	return n
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
