package zklock

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

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
			proofs.Go(func() { _ = s.prove(t.Context(), carrier, []*contender{h.contender}) })
		}
		<-carrier.down
		s.Close()
		proofs.Wait()
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "cutting the connection"))
	})
}
