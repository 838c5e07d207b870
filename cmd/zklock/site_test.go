package main_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

var (
	patience     = flag.Duration("patience", 30*time.Second, "how long a test waits for what must come")
	sharedServer *apachezk.Ensemble
	startServer  sync.Once
	paths        atomic.Int64
)

func stopSharedServer() {
	if sharedServer != nil {
		sharedServer.Stop()
	}
}

// site is a lock's path on the real ZooKeeper that all tests share, and a
// connection to look at it.
type site struct {
	t    *testing.T
	addr string
	path string
	conn *zk.Conn
}

func newSite(t *testing.T) *site {
	t.Helper()
	if _, err := apachezk.Find(); err != nil {
		t.Skipf("needs a real ZooKeeper: %v", err)
	}
	startServer.Do(func() {
		var err error
		sharedServer, err = apachezk.Start(context.Background(), apachezk.Config{})
		require.NoError(t, err)
	})
	require.NotNil(t, sharedServer, "the server did not start")
	return newSiteOn(t, sharedServer)
}

// newSiteWith is newSite on a server of its own, with those settings.
func newSiteWith(t *testing.T, settings map[string]string) *site {
	t.Helper()
	if _, err := apachezk.Find(); err != nil {
		t.Skipf("needs a real ZooKeeper: %v", err)
	}
	server, err := apachezk.Start(t.Context(), apachezk.Config{Settings: settings})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	return newSiteOn(t, server)
}

func newSiteOn(t *testing.T, server *apachezk.Ensemble) *site {
	t.Helper()
	conn, _, err := zk.Connect(server.Addrs(), 20*time.Second, zk.WithLogger(quiet{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return &site{
		t: t, addr: server.Addrs()[0], conn: conn,
		path: fmt.Sprintf("/zklock-command/%d", paths.Add(1)),
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// queue returns the names of the path's nodes.
func (at *site) queue() []string {
	at.t.Helper()
	names, _, err := at.conn.Children(at.path)
	if err == zk.ErrNoNode {
		return nil
	}
	require.NoError(at.t, err)
	return names
}

func (at *site) awaitQueue(length int) {
	at.t.Helper()
	eventually(at.t, fmt.Sprintf("a queue of %d", length), func() bool { return len(at.queue()) == length })
}

// node returns the only node in the queue, and its stat.
func (at *site) node() (string, *zk.Stat) {
	at.t.Helper()
	names := at.queue()
	require.Len(at.t, names, 1)
	node := at.path + "/" + names[0]
	_, stat, err := at.conn.Get(node)
	require.NoError(at.t, err)
	return node, stat
}

// killSession ends the session that has the only node in the queue.
func (at *site) killSession() {
	at.t.Helper()
	_, stat := at.node()
	require.NoError(at.t, apachezk.KillSession(at.t.Context(), at.addr, stat.EphemeralOwner))
}

// create makes the node of the path, and its parents, with an access list.
func (at *site) create(acl []zk.ACL) {
	at.t.Helper()
	parent := at.path[:strings.LastIndex(at.path, "/")]
	if _, err := at.conn.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		require.ErrorIs(at.t, err, zk.ErrNodeExists)
	}
	_, err := at.conn.Create(at.path, nil, 0, acl)
	require.NoError(at.t, err)
}

// reconnect cuts what goes through the link, and returns when there is another connection.
func reconnect(t *testing.T, link *faultproxy.Proxy) {
	t.Helper()
	var again atomic.Bool
	link.OnRequest(func(op int32, _ []byte) {
		if op == faultproxy.OpConnect {
			again.Store(true)
		}
	})
	link.Cut()
	eventually(t, "another connection", again.Load)
}

// eventually waits until cond is true.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(*patience)
	for !cond() {
		require.True(t, time.Now().Before(deadline), "waiting for %s", what)
		time.Sleep(5 * time.Millisecond)
	}
}
