package membership_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// exits is a slog.Handler that ends its goroutine.
type exits struct{ slog.Handler }

func (exits) Enabled(context.Context, slog.Level) bool { runtime.Goexit(); return true }

func TestAMemberGoesOnBehindUsersCodeThatEndsItsGoroutine(t *testing.T) {
	for name, opt := range map[string]membership.Option{
		"notify": membership.WithNotify(func(membership.State) { runtime.Goexit() }),
		"logger": membership.WithLogger(slog.New(exits{slog.DiscardHandler})),
	} {
		t.Run(name, func(t *testing.T) {
			reconnecting(t, func(t *testing.T, server *zktest.Server) {
				s := connect(t, server)
				m := join(t, s, "hello", opt)
				require.True(t, server.ExpireSession(s.ID()))
				time.Sleep(timeout)
				require.Equal(t, 2, m.State().Registrations)
				require.NoError(t, m.Leave(t.Context()))
				require.Empty(t, server.Children(path))
			})
		})
	}
}
