package nemesis

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
)

// metered is a session whose proofs are counted.
func metered(t testing.TB, c *Cluster, timeout time.Duration) (*zklock.Session, *atomic.Int64) {
	t.Helper()
	doors := OpenDoors(t, c.Server(0))
	var proofs atomic.Int64
	doors[0].OnRequest(func(op int32, _ []byte) {
		if op == faultproxy.OpMulti {
			proofs.Add(1)
		}
	})
	return connect(t, timeout, doors.Addrs()), &proofs
}

func TestProofsAreSharedByAllHoldsOfASessionAndStopWithTheLast(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	s, proofs := metered(t, c, shortTimeout)
	for i := range 20 {
		h := acquireLock(t, s, fmt.Sprintf("/cost/%d", i))
		defer h.Release(t.Context())
	}
	proofs.Store(0)
	began := Now()
	pauseFor(shortTimeout)
	made, took := proofs.Load(), Since(began)
	require.NotZero(t, made)
	most := 8*took.Seconds()/shortTimeout.Seconds() + 4
	require.LessOrEqual(t, float64(made), most, "one each eighth of the session timeout, for all the holds")
	t.Logf("20 holds: %d proofs in %v", made, took)

	idle, none := metered(t, c, shortTimeout)
	h := acquireLock(t, idle, "/cost/alone")
	require.NoError(t, h.Release(t.Context()))
	none.Store(0)
	pauseFor(shortTimeout)
	require.Zero(t, none.Load(), "a session that holds nothing proves nothing")
}

// BenchmarkHolding counts the writes that a session costs that holds a lock and
// does nothing else.
func BenchmarkHolding(b *testing.B) {
	c := Start(b)
	for _, timeout := range []time.Duration{shortTimeout, longTimeout} {
		b.Run(fmt.Sprintf("T=%v", timeout), func(b *testing.B) {
			s, proofs := metered(b, c, timeout)
			acquireLock(b, s, fmt.Sprintf("/holding/%v/%d", timeout, b.N))
			proofs.Store(0)
			began := Now()
			for b.Loop() {
				pauseFor(timeout / 8)
			}
			b.ReportMetric(float64(proofs.Load())/Since(began).Seconds(), "proofs/s")
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
