package zklockgocron

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/zktest"
)

// A process that was paused asks before Run's function has heard of the loss.
func TestALeaderWhoseTermIsOverIsNone(t *testing.T) {
	s, err := zklock.Connect(t.Context(), []string{zktest.NewServer(t).Addr()}, 10*time.Second)
	require.NoError(t, err)
	defer s.Close()
	place, err := election.New(s, "/app/leader")
	require.NoError(t, err)
	term, err := place.Campaign(t.Context())
	require.NoError(t, err)
	var e Elector
	e.term.Store(term)
	require.NoError(t, e.IsLeader(t.Context()))
	require.NoError(t, term.Resign(t.Context()))
	require.ErrorIs(t, e.IsLeader(t.Context()), ErrNotLeader)
}
