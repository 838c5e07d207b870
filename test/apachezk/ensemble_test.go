package apachezk_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

func TestAnEnsembleReplacesAKilledLeaderAndTakesItBack(t *testing.T) {
	e := apachezk.Run(t, func(c *apachezk.Config) { c.Servers = 3 })
	require.Len(t, e.Addrs(), 3)
	first, err := e.Leader(t.Context())
	require.NoError(t, err)

	first.Kill()
	second, err := e.Leader(t.Context())
	require.NoError(t, err)
	require.NotSame(t, first, second)
	conn, _ := connect(t, second)
	_, err = conn.Create("/written", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	require.NoError(t, first.Start(t.Context()))
	mode, err := first.Mode(t.Context())
	require.NoError(t, err)
	require.Equal(t, "follower", mode)
	conn, _ = connect(t, first)
	exists, _, err := conn.Exists("/written")
	require.NoError(t, err)
	require.True(t, exists)
}

func TestAPausedLeaderIsReplaced(t *testing.T) {
	e := apachezk.Run(t, func(c *apachezk.Config) { c.Servers = 3; c.SyncLimit = 2 })
	first, err := e.Leader(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Pause())
	second, err := e.Leader(t.Context())
	require.NoError(t, err)
	require.NotSame(t, first, second)

	require.NoError(t, first.Continue())
	require.Eventually(t, func() bool {
		mode, _ := first.Mode(t.Context())
		return mode == "follower"
	}, patience, 10*time.Millisecond)
}

func TestWithoutAMajorityNoServerIsReady(t *testing.T) {
	e := apachezk.Run(t, func(c *apachezk.Config) { c.Servers = 3 })
	for _, s := range e.Servers() {
		s.Kill()
	}
	require.NoError(t, e.Server(0).Launch())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorIs(t, e.Server(0).Await(ctx), context.DeadlineExceeded)

	require.NoError(t, e.Server(1).Launch())
	require.NoError(t, e.Server(0).Await(t.Context()))
	require.NoError(t, e.Server(1).Await(t.Context()))
}

func TestASessionIsKilledThroughAnotherServer(t *testing.T) {
	e := apachezk.Run(t, func(c *apachezk.Config) { c.Servers = 3 })
	victim, expired := connect(t, e.Server(0))
	require.NoError(t, apachezk.KillSession(t.Context(), e.Server(1).Addr(), victim.SessionID()))
	await(t, expired, "the client to be told that its session has expired")
}
