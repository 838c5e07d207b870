package zklockgocron_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

const (
	path    = "/app/jobs"
	timeout = 4 * time.Second
)

func TestMain(m *testing.M) {
	asInstance()
	goleak.VerifyTestMain(m)
}

// inBubble runs test in virtual time, with a server of its own.
func inBubble(t *testing.T, test func(t *testing.T, server *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, zktest.NewServer(t)) })
}

// connect opens a session of server through memory, until the test ends.
func connect(t *testing.T, server *zktest.Server) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, timeout, zklock.WithDialer(server.Dial))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// shifted is a clock that is fast by so much.
type shifted struct {
	clockwork.Clock
	by time.Duration
}

func (s shifted) Now() time.Time { return s.Clock.Now().Add(s.by) }
