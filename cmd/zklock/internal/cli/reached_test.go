package cli

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServersThatCannotBeReachedAreNamedWithoutTheirChroot(t *testing.T) {
	r := newReached([]string{"zk1:2181", "zk2/app"}, slog.New(slog.DiscardHandler))
	slog.New(r).Debug("zklock: attempt to connect failed", "server", "zk2:2181", "error", errors.New("connection refused"))
	require.Equal(t, "zk1:2181 (no answer yet), zk2:2181 (connection refused)", r.String())
}
