package faultproxy

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

// through connects as one server to another by the mesh.
func through(t *testing.T, m *Mesh, from, to int, addr string, accepted <-chan *peer) (here, there *peer) {
	t.Helper()
	m.Route(from, to, addr)
	here, there = pair(t, m.proxies[hop{from, to, addr}], accepted)
	here.send("established")
	there.expect("established")
	return here, there
}

func newMesh(t *testing.T) *Mesh {
	m := NewMesh()
	t.Cleanup(m.Close)
	return m
}

func TestABlockedPathHoldsOneDirectionOfAllConnections(t *testing.T) {
	m := newMesh(t)
	addr, accepted := serve(t)
	one, two := through(t, m, 1, 2, addr, accepted)
	twoToo, oneToo := through(t, m, 2, 1, addr, accepted)

	m.Block(1, 2)
	one.send("held")
	oneToo.send("held")
	two.expectSilence()
	twoToo.expectSilence()
	two.send("passes")
	twoToo.send("passes")
	one.expect("passes")
	oneToo.expect("passes")

	m.Heal()
	two.expect("held")
	twoToo.expect("held")
}

func TestAPartitionSparesPathsInsideAGroup(t *testing.T) {
	m := newMesh(t)
	addr, accepted := serve(t)
	one, three := through(t, m, 1, 3, addr, accepted)
	two, threeToo := through(t, m, 2, 3, addr, accepted)
	m.Partition([]int{1}, []int{2, 3})
	one.send("held")
	three.expectSilence()
	two.send("passes")
	threeToo.expect("passes")
}

func TestAConnectionMadeDuringABlockIsBlocked(t *testing.T) {
	m := newMesh(t)
	addr, accepted := serve(t)
	m.Block(1, 2)
	m.Route(1, 2, addr)
	client := dial(t, m.proxies[hop{1, 2, addr}])
	client.send("held")
	client.expectSilence()
	require.Empty(t, accepted)
	m.Heal()
	server := <-accepted
	server.expect("held")
	require.NoError(t, server.conn.Close())
}

func TestAServerThatDoesNotListenRefuses(t *testing.T) {
	m := newMesh(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	require.NotEqual(t, nowhere, m.Route(1, 2, addr))
	require.NoError(t, listener.Close())
	require.Equal(t, nowhere, m.Route(1, 2, addr))
}

func TestALeaderCutOffFromTheOtherServersIsReplacedAndComesBack(t *testing.T) {
	m := newMesh(t)
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
