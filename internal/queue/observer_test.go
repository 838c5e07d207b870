package queue

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// slow is an observer whose goroutine has to wait for its turn on the processor: behind what it
// is told of a connection, and ahead of what it is told of a node's end.
type slow struct {
	client.Observer
	connected, deleted time.Duration
}

func (o slow) Connected(l *wire.Link, timeout time.Duration) {
	o.Observer.Connected(l, timeout)
	time.Sleep(o.connected)
}

func (o slow) Deleted(path string) {
	time.Sleep(o.deleted)
	o.Observer.Deleted(path)
}

// connectSlowly returns a session of the server that is told by o.
func connectSlowly(t *testing.T, server *zktest.Server, o slow) *Session {
	t.Helper()
	s := NewSession(client.New(sessionTimeout, new(clock.Clock), client.Options{
		Dialer: server.Dial, Hosts: wire.NewHosts(), Logger: slog.New(slog.DiscardHandler),
	}))
	o.Observer = (*observer)(s)
	s.client.Observe(o)
	require.NoError(t, s.client.Connect(t.Context(), []string{server.PipeAddr()}, nil))
	t.Cleanup(func() { s.end() })
	return s
}

// enqueuing calls itself when a call stands in the queue.
type enqueuing func()

func (f enqueuing) Enqueued(string, int64, Enqueued) { f() }
func (enqueuing) Acquired(*Hold)                     {}

// Here the news is not on its way from another machine.
func TestAHoldWhoseNodeIsDeletedIsOverBeforeTheSessionHasTheLockAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := connectSlowly(t, server, slow{deleted: time.Second})
		operator := connect(t, server)
		reader := New(s, "/lock", recipe.Read, defaults())
		reading := take(t, reader)
		writing, err := reader.Of(recipe.Write).Acquire(t.Context(), enqueuing(func() {
			require.NoError(t, operator.client.Conn.Delete(reading.Node(), -1))
		}))
		require.NoError(t, err)
		require.NoError(t, writing.Err())
		require.ErrorIs(t, reading.Err(), ErrLost)
	})
}
