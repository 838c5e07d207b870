package queue

import (
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// sessionTimeout is that of the sessions here.
const sessionTimeout = 20 * time.Second

// connect returns a session of the server.
func connect(t *testing.T, server *zktest.Server) *Session {
	t.Helper()
	return connectBy(t, server, new(clock.Clock), sessionTimeout, client.Options{Dialer: server.Dial})
}

func connectBy(t *testing.T, server *zktest.Server, c *clock.Clock, timeout time.Duration, o client.Options) *Session {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Hosts = wire.NewHosts()
	s := NewSession(client.New(timeout, c, o))
	require.NoError(t, s.client.Connect(t.Context(), []string{server.PipeAddr()}, nil))
	t.Cleanup(func() { s.end() })
	return s
}

// end closes the session as its user does.
func (s *Session) end() {
	s.Close()
	s.client.Close(client.RequestPatience)
}

// connected returns a session with a server of its own.
func connected(t *testing.T) (*Session, *zktest.Server) {
	t.Helper()
	server := zktest.NewServer(t)
	return connect(t, server), server
}

func defaults() Options {
	return Options{ACL: zk.WorldACL(zk.PermAll), NewHold: func() *Hold { return new(Hold) }}
}

// lockAt returns the queue for a lock.
func lockAt(s *Session, path string) *Queue { return New(s, path, recipe.Exclusive, defaults()) }

// hold takes a lock in s.
func hold(t *testing.T, s *Session) *Hold {
	t.Helper()
	h, err := lockAt(s, "/lock").Acquire(t.Context(), nil)
	require.NoError(t, err)
	return h
}
