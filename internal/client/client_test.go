package client

import (
	"fmt"
	"log/slog"
	"sync"
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

// recorder is an observer that notes what it is told.
type recorder struct {
	mu   sync.Mutex // guards told
	told []string
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprintf(format, args...))
}

// all returns what was told since the last call.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	r.told = nil
	return told
}

func (r *recorder) Left() (timeout, left time.Duration) { return 20 * time.Second, 0 }
func (r *recorder) Asks(clock.Instant)                  {}

func (r *recorder) Connected(l *wire.Link, timeout time.Duration) {
	r.note("connected in %s for %v", Hex(l.ID), timeout)
}

func (r *recorder) Disconnected(l *wire.Link) { r.note("disconnected from %s", Hex(l.ID)) }

func (r *recorder) Listed(_ *wire.Link, dir string, names []string) {
	r.note("listed %s %v", dir, names)
}
func (r *recorder) Deleted(path string)           { r.note("deleted %s", path) }
func (r *recorder) Changed(path string)           { r.note("changed %s", path) }
func (r *recorder) Read(path string, data []byte) { r.note("read %s %q", path, data) }

// connect returns a client of the server.
func connect(t *testing.T, server *zktest.Server, dial zk.Dialer) *Client {
	t.Helper()
	return connectTold(t, server, dial, nobody{})
}

// connectTold returns a client of the server that tells o.
func connectTold(t *testing.T, server *zktest.Server, dial zk.Dialer, o Observer) *Client {
	t.Helper()
	c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: dial})
	c.Observe(o)
	require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
	t.Cleanup(func() { c.Close(RequestPatience) })
	return c
}
