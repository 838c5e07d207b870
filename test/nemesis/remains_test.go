package nemesis

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestALeftNodeAndALeftWatchAreFound(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	conn, err := dial(c.Server(0).Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Create("/left", nil, zk.FlagPersistent, everybody)
	require.NoError(t, err)
	left, err := c.Remains(t.Context(), "/left", patience)
	require.NoError(t, err)
	require.True(t, left.none())

	_, err = conn.Create("/left/node", nil, zk.FlagEphemeral, everybody)
	require.NoError(t, err)
	left, err = c.Remains(t.Context(), "/left", time.Millisecond)
	require.NoError(t, err)
	require.Len(t, left.Left, 1)
	require.Contains(t, left.Left[0], "/left/node")
	require.Contains(t, left.Left[0], "which is alive")
	require.Empty(t, left.Diverged, "all servers have it")

	_, _, _, err = conn.GetW("/left/node")
	require.NoError(t, err)
	left, err = c.Remains(t.Context(), "/left", time.Millisecond)
	require.NoError(t, err)
	require.Len(t, left.Left, 2)

	sessions, err := c.Sessions(t.Context(), 1, patience)
	require.NoError(t, err)
	require.Empty(t, sessions)
	sessions, err = c.Sessions(t.Context(), 0, time.Millisecond)
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	require.Contains(t, sessions[0], fmt.Sprintf("session 0x%x is there", conn.SessionID()))
	conn.Close()
	sessions, err = c.Sessions(t.Context(), 0, patience)
	require.NoError(t, err)
	require.Empty(t, sessions)
}

func TestANodeThatTheLeaderDoesNotHaveIsTheServersFault(t *testing.T) {
	r := Remains{Left: []Violation{"a"}, Diverged: []Violation{"a", "b"}}
	require.Equal(t, Remains{Left: []Violation{"a"}, Diverged: []Violation{"b"}}, r.settled())
}
