package apachezk_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

func TestAKilledSessionExpiresAndItsEphemeralNodesAreGone(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	victim, expired := connect(t, server)
	_, err := victim.Create("/ephemeral", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	require.NoError(t, apachezk.KillSession(t.Context(), server.Addr(), victim.SessionID()))

	observer, _ := connect(t, server)
	exists, _, err := observer.Exists("/ephemeral")
	require.NoError(t, err)
	require.False(t, exists, "the ephemeral node is gone when KillSession returns")
	await(t, expired, "the client to be told that its session has expired")
}

func TestAnUnknownSessionCannotBeKilled(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	err := apachezk.KillSession(t.Context(), server.Addr(), 0x1234)
	require.ErrorContains(t, err, "session unknown to the server")
	require.ErrorContains(t, err, "0x1234")
}

func TestKillSessionEndsWithItsContextWhenTheServerHangs(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	require.NoError(t, server.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, apachezk.KillSession(ctx, server.Addr(), 0x1234), context.DeadlineExceeded)
}

// connect opens a session; the channel closes when the client is told that
// the session has expired.
func connect(t *testing.T, s *apachezk.Server) (conn *zk.Conn, expired <-chan struct{}) {
	t.Helper()
	told, established := make(chan struct{}), make(chan struct{})
	tell, establish := sync.OnceFunc(func() { close(told) }), sync.OnceFunc(func() { close(established) })
	conn, _, err := zk.Connect([]string{s.Addr()}, 20*time.Second, zk.WithLogInfo(false), zk.WithEventCallback(func(e zk.Event) {
		switch e.State {
		case zk.StateHasSession:
			establish()
		case zk.StateExpired:
			tell()
		}
	}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	await(t, established, "a session")
	return conn, told
}

// patience is how long a test waits for what has to happen; only a failing one
// waits that long.
const patience = time.Minute

func await(t *testing.T, happened <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}
