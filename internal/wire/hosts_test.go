package wire

import (
	"testing"

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
