package wire

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestServersAreHandedOutInTurnWithNoPauseBetweenTheRounds(t *testing.T) {
	h := steadyHosts{NewHosts()}
	require.NoError(t, h.Init([]string{"a", "b", "c"}))
	require.Equal(t, 3, h.Len())
	for range 2 {
		for _, want := range []string{"a", "b", "c"} {
			server, pauses := h.Next()
			require.Equal(t, want, server)
			require.False(t, pauses)
			h.Connected()
		}
	}
}

// users is a provider of the user's.
type users struct {
	zk.HostProvider
	connected int
}

func (*users) Next() (server string, retryStart bool) { return "a", true }
func (h *users) Connected()                           { h.connected++ }

func TestTheUsersProviderIsToldOfConnectionsAndItsPausesAreNotKept(t *testing.T) {
	h := new(users)
	hosts := NewDialer(t.Context(), nobody{}, Options{Hosts: h}).Hosts
	server, pauses := hosts.Next()
	require.Equal(t, "a", server)
	require.False(t, pauses)
	hosts.Connected()
	require.Equal(t, 1, h.connected)
}
