package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestAHolderThatGivesTheLockBackMeanwhileKeepsNoneFromBeingAsked(t *testing.T) {
	server := zktest.NewServer(t)
	connect := func() *zklock.Session {
		session, err := zklock.Connect(t.Context(), []string{server.Addr()}, 10*time.Second)
		require.NoError(t, err)
		t.Cleanup(func() { session.Close() })
		return session
	}
	rw, err := zklock.NewRW(connect(), "/p")
	require.NoError(t, err)
	first, err := rw.RAcquire(t.Context())
	require.NoError(t, err)
	second, err := rw.RAcquire(t.Context())
	require.NoError(t, err)

	asking := server.HoldRequest(zktest.OpSetData, zktest.OnPath(first.Node()))
	var out strings.Builder
	done := make(chan error, 1)
	asker := connect()
	go func() { done <- revoke(t.Context(), asker, &out, "/p", "") }()
	<-asking.Struck()
	require.NoError(t, first.Release(t.Context()))
	asking.Release()
	require.NoError(t, <-done)
	<-second.Revoked()
	require.Contains(t, out.String(), first.Node()+" is gone already\n")
	require.Contains(t, out.String(), "for "+second.Node()+"\n")
}
