package faultproxy

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
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
