package lock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// Whoever looks at a queue once in a while, as a dashboard does, adds nothing to the work that
// waits for a server that hangs.
func TestLookingAtAQueueAgainAndAgainPilesUpNothingWhileTheServerHangs(t *testing.T) {
	for name, poll := range map[string]func(ctx context.Context, s *zklock.Session, node string) error{
		"Inspect": func(ctx context.Context, s *zklock.Session, node string) error {
			_, err := zklock.Inspect(ctx, s, "/lock")
			return err
		},
		"Revoke": zklock.Revoke,
	} {
		t.Run(name, func(t *testing.T) {
			inFarBubble(t, func(t *testing.T, b *bubble) {
				const polls, few = 1000, 500
				s := b.session("poller")
				h, err := b.locker(b.session("holder")).Acquire(t.Context())
				require.NoError(t, err)
				before := runtime.NumGoroutine()
				b.server.Freeze()
				for range polls {
					ctx, cancel := context.WithTimeout(t.Context(), longSession/8/polls)
					began := time.Now()
					require.ErrorIs(t, poll(ctx, s, h.Node()), context.DeadlineExceeded)
					require.Equal(t, longSession/8/polls, time.Since(began))
					cancel()
				}
				require.Less(t, runtime.NumGoroutine(), before+few)
				asked := requests(b.server)
				b.server.Thaw()
				synctest.Wait()
				require.Less(t, requests(b.server), asked+few)
				require.NoError(t, poll(t.Context(), s, h.Node()))
				require.NoError(t, h.Release(t.Context()))
			})
		})
	}
}

// requests returns how many have come in at the server.
func requests(server *zktest.Server) (n int) {
	for _, some := range server.Requests() {
		n += some
	}
	return n
}
