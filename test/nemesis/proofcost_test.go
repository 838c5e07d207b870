package nemesis

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// metered is a session that reports of each of its proofs how many nodes it names.
func metered(t testing.TB, c *Cluster, timeout time.Duration) (*zklock.Session, <-chan int) {
	t.Helper()
	links := OpenLinks(t, c.Server(0))
	proofs := make(chan int, 1<<16)
	links[0].OnRequest(func(op int32, frame []byte) {
		if op == faultproxy.OpMulti {
			proofs <- bytes.Count(frame, []byte(costRoot))
		}
	})
	return connect(t, timeout, links.Addrs()), proofs
}

// costRoot begins the path of each lock whose proofs are counted.
const costRoot = "/cost/"

// How often a session proves depends on how busy the machine is: a proof that is slow
// is doubted, and another one sent. How many holds each proof is for does not.
func TestProofsAreSharedByAllHoldsOfASessionAndStopWithTheLast(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	const holds, enough = 20, 4
	s, proofs := metered(t, c, longTimeout)
	other, yardstick := metered(t, c, longTimeout)
	acquireLock(t, other, costRoot+"other")
	var held []*zklock.Hold
	for i := range holds {
		held = append(held, acquireLock(t, s, fmt.Sprint(costRoot, i)))
	}
	awaitProofs := func(of int) {
		t.Helper()
		drain(proofs)
		receive(t, proofs, "the proof that may have been begun before")
		for range enough {
			require.Equal(t, of, receive(t, proofs, "a proof"), "each proof is of all that is held")
		}
	}
	awaitProofs(holds)
	for _, h := range held[1:] {
		require.NoError(t, h.Release(t.Context()))
	}
	awaitProofs(1)
	require.NoError(t, held[0].Release(t.Context()))

	drain(proofs)
	drain(yardstick)
	for range enough {
		receive(t, yardstick, "a proof of a session that holds a lock")
	}
	require.LessOrEqual(t, drain(proofs), 1, "a session that holds nothing proves nothing: one may have been under way")
}

// drain forgets the proofs so far, and returns how many there were.
func drain(proofs <-chan int) (n int) {
	for ; len(proofs) > 0; n++ {
		<-proofs
	}
	return n
}

// BenchmarkHolding counts the writes that a session costs that holds a lock and
// does nothing else.
func BenchmarkHolding(b *testing.B) {
	c := Start(b)
	for _, timeout := range []time.Duration{shortTimeout, longTimeout} {
		b.Run(fmt.Sprintf("T=%v", timeout), func(b *testing.B) {
			s, proofs := metered(b, c, timeout)
			acquireLock(b, s, fmt.Sprintf("%sholding/%v/%d", costRoot, timeout, b.N))
			drain(proofs)
			began := Now()
			for b.Loop() {
				pauseFor(timeout / 8)
			}
			b.ReportMetric(float64(drain(proofs))/Since(began).Seconds(), "proofs/s")
		})
	}
}

// BenchmarkLocking takes and releases a lock. The mutant without proofs is its
// yardstick: go test -run TestWhatProofsCost -v -measure.
func BenchmarkLocking(b *testing.B) {
	_, followers, err := Start(b).Roles(b.Context())
	require.NoError(b, err)
	s := connect(b, longTimeout, []string{followers[0].Addr()}) // the leader itself is quicker
	l, err := zklock.New(s, "/locking")
	require.NoError(b, err)
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			section(l)
		}
	})
	b.Run("8 goroutines", func(b *testing.B) {
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				section(l)
			}
		})
	})
}

func section(l *zklock.Locker) {
	l.Lock()
	defer l.Unlock()
}

func TestASessionProvesEachEighthOfItsTimeoutHoweverMuchItHolds(t *testing.T) {
	for _, holds := range []int{1, 20} {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t)
			s := connect(t, shortTimeout, []string{server.PipeAddr()}, zklock.WithDialer(server.Dial))
			for i := range holds {
				acquireLock(t, s, fmt.Sprint(costRoot, i))
			}
			pauseFor(shortTimeout + shortTimeout/16)
			before := server.Requests()[zktest.OpMulti]
			pauseFor(shortTimeout)
			require.EqualValues(t, 8, server.Requests()[zktest.OpMulti]-before, "by a session of %d holds", holds)
		})
	}
}
