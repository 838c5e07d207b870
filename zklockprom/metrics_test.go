package zklockprom_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockprom"
	"github.com/zklock/zklock/zktest"
)

const path = "/locks/ledger"

// bench is a lock with metrics, in a bubble of virtual time.
type bench struct {
	*testing.T
	server  *zktest.Server
	metrics *zklockprom.Metrics
	chroot  string // of its sessions
}

func inBubble(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) { test(&bench{T: t, server: zktest.NewServer(t), metrics: zklockprom.New()}) })
}

func (b *bench) session() *zklock.Session {
	s, err := zklock.Connect(b.Context(), []string{b.server.PipeAddr() + b.chroot}, 4*time.Second,
		zklock.WithDialer(b.server.Client(b.Name()).Dial))
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}

func (b *bench) locker(s *zklock.Session, opts ...zklock.Option) *zklock.Locker {
	l, err := zklock.New(s, path, append(opts, zklock.WithTrace(b.metrics.Trace()))...)
	require.NoError(b, err)
	return l
}

// requireMetrics compares the metrics of these names with want.
func (b *bench) requireMetrics(of prometheus.Collector, want string, names ...string) {
	b.Helper()
	synctest.Wait()
	require.NoError(b, testutil.CollectAndCompare(of, strings.NewReader(want), names...))
}

// scrape returns the gauges and counters of the registry that have a path, by name
// and path.
func scrape(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func TestWaitsAndHoldsAreMeasured(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.server.Client(b.Name()).Delay(zktest.ToServer, time.Millisecond, time.Millisecond)
		holder, waiter := b.locker(b.session()), b.locker(b.session())
		holder.Lock()
		b.requireMetrics(b.metrics, `
# HELP zklock_held Holds of this process.
# TYPE zklock_held gauge
zklock_held{path="/locks/ledger"} 1
`, "zklock_held")
		done := make(chan error)
		go func() { done <- waiter.LockContext(context.Background()) }()
		time.Sleep(20 * time.Second)
		require.Equal(t, []int{1, 2}, b.observed("zklock_ahead", 0, 1), "nobody was ahead of the holder")
		holder.Unlock()
		require.NoError(t, <-done)
		b.requireMetrics(b.metrics, `
# HELP zklock_held Holds of this process.
# TYPE zklock_held gauge
zklock_held{path="/locks/ledger"} 1
`, "zklock_held")
		require.Equal(t, []int{1, 2}, b.observed("zklock_wait_seconds", 10, 30), "one wait took a moment, one 20 s")
		require.Equal(t, []int{0, 1}, b.observed("zklock_hold_seconds", 10, 30))
	})
}

// observed returns how many observations there are up to each of the bounds.
func (b *bench) observed(name string, bounds ...float64) (counts []int) {
	b.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(b.metrics)
	families, err := registry.Gather()
	require.NoError(b, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, bucket := range f.GetMetric()[0].GetHistogram().GetBucket() {
			for _, bound := range bounds {
				if bucket.GetUpperBound() == bound {
					counts = append(counts, int(bucket.GetCumulativeCount()))
				}
			}
		}
	}
	return counts
}

func TestALossIsCounted(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		l := b.locker(s)
		l.Lock()
		b.server.ExpireSession(s.ID())
		<-l.Lost()
		b.requireMetrics(b.metrics, `
# HELP zklock_held Holds of this process.
# TYPE zklock_held gauge
zklock_held{path="/locks/ledger"} 0
# HELP zklock_lost_total Holds that ended without their owner's release.
# TYPE zklock_lost_total counter
zklock_lost_total{path="/locks/ledger"} 1
# HELP zklock_suspended_total Holds whose connection was lost.
# TYPE zklock_suspended_total counter
zklock_suspended_total{path="/locks/ledger"} 1
`, "zklock_held", "zklock_lost_total", "zklock_suspended_total")
	})
}

func TestCallsThatFailAreCountedByTheirReason(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		holder, other := b.locker(b.session()), b.locker(s)
		holder.Lock()
		_, err := other.TryAcquire(b.Context())
		require.ErrorIs(t, err, zklock.ErrLocked)
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, other.LockContext(ctx), context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(b.Context())
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, other.LockContext(ctx), context.Canceled)
		_, err = s.Conn().Create("/denied", nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead))
		require.NoError(t, err)
		denied, err := zklock.New(s, "/denied", zklock.WithTrace(b.metrics.Trace()))
		require.NoError(t, err)
		require.ErrorIs(t, denied.LockContext(b.Context()), zk.ErrNoAuth)
		time.AfterFunc(time.Second, func() { s.Close() })
		require.ErrorIs(t, other.LockContext(b.Context()), zklock.ErrClosed)
		b.requireMetrics(b.metrics, `
# HELP zklock_errors_total Calls that ended without the lock.
# TYPE zklock_errors_total counter
zklock_errors_total{path="/denied",reason="denied"} 1
zklock_errors_total{path="/locks/ledger",reason="canceled"} 1
zklock_errors_total{path="/locks/ledger",reason="closed"} 1
zklock_errors_total{path="/locks/ledger",reason="denied"} 0
zklock_errors_total{path="/locks/ledger",reason="locked"} 1
zklock_errors_total{path="/locks/ledger",reason="timeout"} 1
`, "zklock_errors_total")
	})
}

func TestWhatAlertsLookAtIsThereFromTheFirstCallOn(t *testing.T) {
	for name, call := range map[string]func(b *bench, l *zklock.Locker){
		"it waits": func(b *bench, l *zklock.Locker) { b.take(l) },
		"it fails": func(b *bench, l *zklock.Locker) {
			_, err := l.TryAcquire(b.Context())
			require.ErrorIs(b, err, zklock.ErrLocked)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				registry := prometheus.NewRegistry()
				registry.MustRegister(b.metrics)
				others, err := zklock.New(b.session(), path)
				require.NoError(t, err)
				others.Lock()
				call(b, b.locker(b.session()))
				values := scrape(t, registry)
				for _, name := range []string{"zklock_wait_seconds", "zklock_hold_seconds", "zklock_lost_total", "zklock_errors_total"} {
					require.Contains(t, values, name+" "+path)
				}
			})
		})
	}
}

func TestASemaphoreIsMeasuredUnderItsPath(t *testing.T) {
	inBubble(t, func(b *bench) {
		sem, err := zklock.NewSemaphore(b.session(), path, 2, zklock.WithTrace(b.metrics.Trace()))
		require.NoError(t, err)
		h, err := sem.Acquire(b.Context(), 2)
		require.NoError(t, err)
		_, err = sem.TryAcquire(b.Context(), 1)
		require.ErrorIs(t, err, zklock.ErrLocked)
		b.requireMetrics(b.metrics, `
# HELP zklock_errors_total Calls that ended without the lock.
# TYPE zklock_errors_total counter
zklock_errors_total{path="/locks/ledger",reason="denied"} 0
zklock_errors_total{path="/locks/ledger",reason="locked"} 1
# HELP zklock_held Holds of this process.
# TYPE zklock_held gauge
zklock_held{path="/locks/ledger"} 1
`, "zklock_errors_total", "zklock_held")
		time.Sleep(20 * time.Second)
		require.NoError(t, h.Release(b.Context()))
		require.Equal(t, []int{1, 1}, b.observed("zklock_wait_seconds", 10, 30))
		require.Equal(t, []int{0, 1}, b.observed("zklock_hold_seconds", 10, 30))
	})
}

func TestTheQueueIsReadAtEachScrape(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		b.locker(s).Lock()
		queue := zklockprom.NewQueue(s, time.Second, path, path) // to ask twice is to ask once
		for _, of := range []*zklock.Session{b.session(), s} {
			go func() { _ = b.locker(of).LockContext(b.Context()) }()
			synctest.Wait()
		}
		b.requireMetrics(queue, `
# HELP zklock_queue_age_seconds How old the state is that the others tell: 0 if it was read for this scrape.
# TYPE zklock_queue_age_seconds gauge
zklock_queue_age_seconds{path="/locks/ledger"} 0
# HELP zklock_queue_holders Holds of the lock, by all processes; permits of a semaphore.
# TYPE zklock_queue_holders gauge
zklock_queue_holders{path="/locks/ledger"} 1
# HELP zklock_queue_position How many wait ahead of this session's first waiter; missing if none waits.
# TYPE zklock_queue_position gauge
zklock_queue_position{path="/locks/ledger"} 1
# HELP zklock_queue_readable Whether the queue could be read, 1 or 0.
# TYPE zklock_queue_readable gauge
zklock_queue_readable{path="/locks/ledger"} 1
# HELP zklock_queue_waiters Contenders that wait for the lock, of all processes.
# TYPE zklock_queue_waiters gauge
zklock_queue_waiters{path="/locks/ledger"} 2
`)
		require.NoError(t, s.Close())
		b.requireMetrics(queue, `
# HELP zklock_queue_readable Whether the queue could be read, 1 or 0.
# TYPE zklock_queue_readable gauge
zklock_queue_readable{path="/locks/ledger"} 0
# HELP zklock_queue_waiters Contenders that wait for the lock, of all processes.
# TYPE zklock_queue_waiters gauge
zklock_queue_waiters{path="/locks/ledger"} 2
`, "zklock_queue_readable", "zklock_queue_waiters")
	})
}
