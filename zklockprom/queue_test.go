//go:build unix

package zklockprom_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zklockprom"
	"github.com/zklock/zklock/zktest"
)

func manyPaths(n int) (paths []string) {
	for i := range n {
		paths = append(paths, fmt.Sprintf("/locks/%d", i))
	}
	return paths
}

func TestAScrapeInAnOutageIsQuickAndHasTheLastKnownState(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		b.locker(s).Lock()
		registry := prometheus.NewRegistry()
		registry.MustRegister(b.metrics, zklockprom.NewQueue(s, 30*time.Second, append(manyPaths(50), path)...))
		scrape(t, registry)
		b.server.Freeze()
		time.Sleep(100 * time.Second)

		start := time.Now()
		values := scrape(t, registry)
		require.LessOrEqual(t, time.Since(start), 5*time.Second+100*time.Millisecond, "all of them, whatever the timeout")
		require.Equal(t, 0., values["zklock_queue_readable "+path])
		require.Equal(t, 1., values["zklock_queue_holders "+path])
		require.InDelta(t, 105, values["zklock_queue_age_seconds "+path], 1)
		require.Equal(t, 1., values["zklock_lost_total "+path], "the process's other metrics")

		b.server.Thaw()
		synctest.Wait()
		for values = scrape(t, registry); values["zklock_queue_readable "+path] == 0; values = scrape(t, registry) {
			time.Sleep(time.Second)
		}
		require.Zero(t, values["zklock_queue_age_seconds "+path])
		require.Equal(t, 0., values["zklock_queue_holders "+path])
	})
}

func TestTheQueuesAreReadSideBySide(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		b.server.Client(b.Name()).Delay(zktest.ToServer, 50*time.Millisecond, 50*time.Millisecond)
		queue := zklockprom.NewQueue(s, 5*time.Second, manyPaths(100)...)
		start := time.Now()
		require.Equal(t, 0, testutil.CollectAndCount(queue, "zklock_queue_position"))
		require.Less(t, time.Since(start), time.Second)
	})
}

func TestQueuesThatWereNeverReadSayNothingButThat(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		b.server.Freeze()
		b.requireMetrics(zklockprom.NewQueue(s, time.Second, path), `
# HELP zklock_queue_readable Whether the queue could be read, 1 or 0.
# TYPE zklock_queue_readable gauge
zklock_queue_readable{path="/locks/ledger"} 0
`)
		b.server.Thaw()
	})
}

func TestSeveralQueuesAreInOneRegistry(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.session()
		registry := prometheus.NewRegistry()
		require.NoError(t, registry.Register(zklockprom.NewQueue(s, time.Second, "/a", "/b")))
		require.NoError(t, registry.Register(zklockprom.NewQueue(s, time.Second, "/c")))
		require.NoError(t, registry.Register(zklockprom.NewQueue(b.session(), time.Second)), "without a path")
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP zklock_queue_waiters Contenders that wait for the lock, of all processes.
# TYPE zklock_queue_waiters gauge
zklock_queue_waiters{path="/a"} 0
zklock_queue_waiters{path="/b"} 0
zklock_queue_waiters{path="/c"} 0
`), "zklock_queue_waiters"))
		require.Error(t, registry.Register(zklockprom.NewQueue(s, time.Second, "/d", "/a")),
			"a path twice is found at once, not by each scrape")
	})
}

func TestALockBelowAChrootHasItsWholePathInAllMetrics(t *testing.T) {
	inBubble(t, func(b *bench) {
		registry := prometheus.NewRegistry()
		registry.MustRegister(b.metrics)
		want := make(map[string]bool)
		for _, b.chroot = range []string{"/a", "/b"} {
			s := b.session()
			b.locker(s).Lock()
			require.NoError(t, registry.Register(zklockprom.NewQueue(s, time.Second, path)), "another lock than below the other chroot")
			want["zklock_held "+b.chroot+path], want["zklock_queue_holders "+b.chroot+path] = true, true
		}
		got := make(map[string]bool)
		for series, value := range scrape(t, registry) {
			if value == 1 && (strings.HasPrefix(series, "zklock_held ") || strings.HasPrefix(series, "zklock_queue_holders ")) {
				got[series] = true
			}
		}
		require.Equal(t, want, got)
	})
}

func TestARealServerThatIsAwayCostsAScrapeAMoment(t *testing.T) {
	ensemble := apachezk.Run(t)
	s, err := zklock.Connect(t.Context(), ensemble.Addrs(), 10*time.Second)
	require.NoError(t, err)
	defer s.Close()
	mu, err := zklock.New(s, path)
	require.NoError(t, err)
	mu.Lock()
	registry := prometheus.NewRegistry()
	registry.MustRegister(zklockprom.NewQueue(s, time.Second, append(manyPaths(20), path)...))
	scrape(t, registry)

	require.NoError(t, ensemble.Server(0).Pause())
	defer func() { require.NoError(t, ensemble.Server(0).Continue()) }()
	start := time.Now()
	values := scrape(t, registry)
	require.Less(t, time.Since(start), 10*time.Second, "Prometheus' own limit")
	require.Equal(t, 0., values["zklock_queue_readable "+path])
	require.Equal(t, 1., values["zklock_queue_holders "+path])
}
