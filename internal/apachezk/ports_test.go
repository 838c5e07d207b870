//go:build unix

package apachezk

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReservedPortsBelongToOneReservation(t *testing.T) {
	taken := make(map[int]bool)
	for range 50 {
		r, err := reservePorts(mostServers)
		require.NoError(t, err)
		t.Cleanup(r.release)
		for _, p := range r.servers {
			for _, port := range []int{p.client, p.quorum, p.election, p.secure} {
				require.False(t, taken[port], "port %d", port)
				taken[port] = true
			}
		}
	}
}

func TestABlockWithAPortInUseIsNotReserved(t *testing.T) {
	r, err := reservePorts(2)
	require.NoError(t, err)
	first := r.servers[0].client - 1
	_, err = reserveBlock(first, 2)
	require.Error(t, err, "the block is reserved")

	r.release()
	squatter, err := net.Listen("tcp", hostPort(r.servers[1].election))
	require.NoError(t, err)
	defer squatter.Close()
	_, err = reserveBlock(first, 2)
	require.Error(t, err, "a port of the block is in use")
	r, err = reserveBlock(first, 1)
	require.NoError(t, err)
	r.release()
}

func TestTheNumberOfServersHasLimits(t *testing.T) {
	for _, n := range []int{-1, mostServers + 1} {
		_, err := reservePorts(n)
		require.ErrorContains(t, err, "servers")
	}
}
