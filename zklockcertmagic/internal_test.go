package zklockcertmagic

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestNothingIsKeptOfNamesThatNobodyUses(t *testing.T) {
	session, err := zklock.Connect(t.Context(), []string{zktest.NewServer(t).Addr()}, 10*time.Second)
	require.NoError(t, err)
	defer session.Close()
	s, err := New(&certmagic.FileStorage{}, session, "/app/certificates")
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 10 {
		name := strconv.Itoa(i)
		require.NoError(t, s.Lock(t.Context(), name))
		require.Error(t, s.Lock(ended, name))
		_, err := s.TryLock(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, s.Unlock(t.Context(), name))
		require.Error(t, s.Lock(ended, name))
	}
	require.Empty(t, s.locks)
}
