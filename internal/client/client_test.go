package client

import (
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// nobody is an observer that takes whatever it is told.
type nobody struct{}

func (nobody) Left() (timeout, left time.Duration) { return 20 * time.Second, 0 }
func (nobody) Asks(clock.Instant)                  {}
func (nobody) Connected(*wire.Link, time.Duration) {}
func (nobody) Disconnected(*wire.Link)             {}
func (nobody) Listed(*wire.Link, string, []string) {}
func (nobody) Deleted(string)                      {}
func (nobody) Changed(string)                      {}
func (nobody) Read(string, []byte)                 {}

// connect returns a client of the server.
func connect(t *testing.T, server *zktest.Server, dial zk.Dialer) *Client {
	t.Helper()
	c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: dial})
	c.Observe(nobody{})
	require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
	t.Cleanup(func() { c.Close(RequestPatience) })
	return c
}
