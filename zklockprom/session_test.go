package zklockprom_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockprom"
)

const sessionMetrics = `
# HELP zklock_connected Sessions of this process that have a connection.
# TYPE zklock_connected gauge
zklock_connected %d
# HELP zklock_leases_over_total Times that no server has confirmed in time that a session lives.
# TYPE zklock_leases_over_total counter
zklock_leases_over_total %d
# HELP zklock_reconnects_total Connections of sessions in place of lost ones.
# TYPE zklock_reconnects_total counter
zklock_reconnects_total %d
# HELP zklock_sessions_expired_total ZooKeeper sessions that the servers have ended.
# TYPE zklock_sessions_expired_total counter
zklock_sessions_expired_total %d
`

func (b *bench) requireSessions(connected, leases, reconnects, expired int) {
	b.Helper()
	b.requireMetrics(b.metrics, fmt.Sprintf(sessionMetrics, connected, leases, reconnects, expired))
}

func TestTheConnectionsOfSessionsAreCounted(t *testing.T) {
	inBubble(t, func(b *bench) {
		connect := func() *zklock.Session {
			s, err := zklock.Connect(b.Context(), []string{b.server.PipeAddr()}, 4*time.Second,
				zklock.WithDialer(b.server.Client(b.Name()).Dial), zklock.WithSessionTrace(b.metrics.SessionTrace()))
			require.NoError(b, err)
			return s
		}
		one := connect()
		b.requireSessions(1, 0, 0, 0)
		two := connect()
		b.requireSessions(2, 0, 0, 0)
		b.server.Refuse(true)
		b.server.Cut()
		b.requireSessions(0, 0, 0, 0)
		b.server.Refuse(false)
		time.Sleep(10 * time.Second)
		b.requireSessions(2, 0, 2, 0)
		b.server.ExpireSession(one.ID())
		time.Sleep(10 * time.Second)
		b.requireSessions(2, 0, 3, 1)
		l, err := zklock.New(two, "/untraced")
		require.NoError(b, err)
		h, err := l.Acquire(b.Context())
		require.NoError(b, err)
		b.server.Refuse(true)
		b.server.Cut()
		<-h.Lost()
		b.server.Refuse(false)
		time.Sleep(time.Second)
		b.requireSessions(2, 1, 5, 1)
		require.NoError(t, one.Close())
		b.requireSessions(1, 1, 5, 1)
		require.NoError(t, two.Close())
		b.requireSessions(0, 1, 5, 1)
	})
}

func TestMetricsWithoutASessionTraceSayNothingOfConnections(t *testing.T) {
	inBubble(t, func(b *bench) { b.requireMetrics(zklockprom.New(), "") })
}
