package zklock

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// A run of the timer that waits for the session's mutex goes on after whoever has
// that sets the timer anew.
func TestTheLeaseIsLookedAtByOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		l, err := New(s, "/lock")
		require.NoError(t, err)
		_, err = l.Acquire(t.Context())
		require.NoError(t, err)
		looking := func() *time.Timer {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.expiry
		}
		before := looking()
		s.expire()
		require.True(t, looking() == before || !before.Stop(), "two timers look at the lease")
	})
}

func TestAConnectionThatIsCutForManyProofsIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 20
		server := zktest.NewServer(t)
		var log bytes.Buffer // a handler writes one line at a time
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial),
			WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		l, err := New(s, "/lock")
		require.NoError(t, err)
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		server.Freeze()
		carrier := s.current()
		var proofs sync.WaitGroup
		for range many {
			proofs.Go(func() { _ = s.prove(t.Context(), []*contender{h.contender}) })
		}
		<-carrier.Down()
		s.Close()
		proofs.Wait()
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "cutting the connection"))
	})
}

// Of many holds, the last would be lost late if each one's node was seen to first.
func TestAllHoldsAreLostBeforeTheirNodesAreSeenTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		var holds []*Hold
		ended, early := 0, 0
		for i := range 10 {
			l, err := New(s, fmt.Sprintf("/lock%d", i))
			require.NoError(t, err)
			h, err := l.Acquire(t.Context())
			require.NoError(t, err)
			holds = append(holds, h)
			h.whenEnded(func(error) {
				ended++
				for _, h := range holds {
					if h.contender.leaving != nil {
						early++
					}
				}
			})
		}
		server.Freeze()
		for _, h := range holds {
			<-h.Lost()
		}
		server.Thaw()
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Equal(t, len(holds), ended)
		require.Zero(t, early)
	})
}
