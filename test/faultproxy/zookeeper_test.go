// Package faultproxy_test has the proxy between go-zookeeper and Apache ZooKeeper.
package faultproxy_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

func TestTheServerExecutesACreateWhoseReplyIsLost(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	p := faultproxy.Run(t, server.Addr())
	conn, direct := connect(t, p.Addr()), connect(t, server.Addr())

	dropped := p.DropReply(faultproxy.OpCreate)
	_, err := conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.ErrorIs(t, err, zk.ErrConnectionClosed)
	requireClosed(t, dropped)
	exists, _, err := direct.Exists("/lock")
	require.NoError(t, err)
	require.True(t, exists)

	dropped = p.DropReply(faultproxy.OpDelete)
	require.ErrorIs(t, conn.Delete("/lock", -1), zk.ErrConnectionClosed)
	requireClosed(t, dropped)
	exists, _, err = direct.Exists("/lock")
	require.NoError(t, err)
	require.False(t, exists)
}

func TestTheServerNeverSeesADroppedCreate(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	p := faultproxy.Run(t, server.Addr())
	conn := connect(t, p.Addr())
	dropped := p.DropRequest(faultproxy.OpCreate)
	_, err := conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.ErrorIs(t, err, zk.ErrConnectionClosed)
	requireClosed(t, dropped)
	exists, _, err := connect(t, server.Addr()).Exists("/lock")
	require.NoError(t, err)
	require.False(t, exists)
}

func TestAnExpiryBetweenTwoRequestsIsExact(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	p := faultproxy.Run(t, server.Addr())
	conn := connect(t, p.Addr())
	session := conn.SessionID()
	killed := make(chan error, 1)
	p.OnRequest(func(op int32, _ []byte) {
		if op == faultproxy.OpGetChildren2 {
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

func TestALeaderCutOffFromTheOtherServersIsReplacedAndComesBack(t *testing.T) {
	m := faultproxy.NewMesh()
	t.Cleanup(m.Close)
	e := apachezk.Run(t, func(c *apachezk.Config) { c.Servers = 3; c.SyncLimit = 4; c.Route = m.Route })
	old, err := e.Leader(t.Context())
	require.NoError(t, err)
	var others []int
	for _, s := range e.Servers() {
		if s != old {
			others = append(others, s.ID())
		}
	}

	m.Partition([]int{old.ID()}, others)

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var leader *apachezk.Server
	require.Eventually(t, func() bool {
		leader, err = e.Leader(ctx)
		return err == nil && slices.Contains(others, leader.ID())
	}, patience, 10*time.Millisecond)
	require.NoError(t, leader.Await(ctx))
	_, err = connect(t, leader.Addr()).Create("/without", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := old.Mode(ctx)
		return err != nil
	}, patience, 10*time.Millisecond, "without a majority it serves nobody")

	m.Heal()
	require.NoError(t, old.Await(ctx))
	exists, _, err := connect(t, old.Addr()).Exists("/without")
	require.NoError(t, err)
	require.True(t, exists)
}

// patience is how long a test waits for what has to happen; only a failing one
// waits that long.
const patience = time.Minute

func requireClosed(t *testing.T, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatal("it did not happen")
	}
}
