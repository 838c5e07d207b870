package apachezk

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestAKilledSessionExpiresAndItsEphemeralNodesAreGone(t *testing.T) {
	server := Run(t).Server(0)
	victim, expired := connect(t, server)
	_, err := victim.Create("/ephemeral", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	require.NoError(t, KillSession(t.Context(), server.Addr(), victim.SessionID()))

	observer, _ := connect(t, server)
	exists, _, err := observer.Exists("/ephemeral")
	require.NoError(t, err)
	require.False(t, exists, "the ephemeral node is gone when KillSession returns")
	select {
	case <-expired:
	case <-time.After(10 * time.Second):
		t.Fatal("the client was not told that its session has expired")
	}
}

func TestAnUnknownSessionCannotBeKilled(t *testing.T) {
	server := Run(t).Server(0)
	err := KillSession(t.Context(), server.Addr(), 0x1234)
	require.ErrorIs(t, err, errNoSession)
	require.ErrorContains(t, err, "0x1234")
}

func TestKillSessionEndsWithItsContextWhenTheServerHangs(t *testing.T) {
	server := Run(t).Server(0)
	require.NoError(t, server.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, KillSession(ctx, server.Addr(), 0x1234), context.DeadlineExceeded)
}

// connect opens a session; the channel closes when the client is told that
// the session has expired.
func connect(t *testing.T, s *Server) (conn *zk.Conn, expired <-chan struct{}) {
	t.Helper()
	told := make(chan struct{})
	established := make(chan struct{}, 8)
	conn, _, err := zk.Connect([]string{s.Addr()}, 4*time.Second, zk.WithLogInfo(false), zk.WithEventCallback(func(e zk.Event) {
		switch e.State {
		case zk.StateHasSession:
			select {
			case established <- struct{}{}:
			default:
			}
		case zk.StateExpired:
			close(told)
		}
	}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	select {
	case <-established:
	case <-time.After(10 * time.Second):
		t.Fatal("no session")
	}
	return conn, told
}
