package faultproxy

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

func TestTheServerExecutesACreateWhoseReplyIsLost(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	p := Run(t, server.Addr())
	conn, direct := connect(t, p.Addr()), connect(t, server.Addr())

	dropped := p.DropReply(OpCreate)
	_, err := conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.ErrorIs(t, err, zk.ErrConnectionClosed)
	requireClosed(t, dropped)
	exists, _, err := direct.Exists("/lock")
	require.NoError(t, err)
	require.True(t, exists)

	dropped = p.DropReply(OpDelete)
	require.ErrorIs(t, conn.Delete("/lock", -1), zk.ErrConnectionClosed)
	requireClosed(t, dropped)
	exists, _, err = direct.Exists("/lock")
	require.NoError(t, err)
	require.False(t, exists)
}

func TestTheServerNeverSeesADroppedCreate(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	p := Run(t, server.Addr())
	conn := connect(t, p.Addr())
	dropped := p.DropRequest(OpCreate)
	_, err := conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.ErrorIs(t, err, zk.ErrConnectionClosed)
	requireClosed(t, dropped)
	exists, _, err := connect(t, server.Addr()).Exists("/lock")
	require.NoError(t, err)
	require.False(t, exists)
}

func TestAnExpiryBetweenTwoRequestsIsExact(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	p := Run(t, server.Addr())
	conn := connect(t, p.Addr())
	session := conn.SessionID()
	killed := make(chan error, 1)
	p.OnRequest(func(op int32, _ []byte) {
		if op == OpGetChildren2 {
			p.OnRequest(nil)
			killed <- apachezk.KillSession(t.Context(), server.Addr(), session)
		}
	})
	_, err := conn.Create("/lock", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, _, err = conn.Children("/")
	require.Error(t, err)
	require.NoError(t, <-killed)
}

func connect(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	established := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{addr}, 20*time.Second, zk.WithLogInfo(false), zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			select {
			case established <- struct{}{}:
			default:
			}
		}
	}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	requireClosed(t, established)
	return conn
}
