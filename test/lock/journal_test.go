package lock_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// stuckHandler is a log handler whose first message takes until it is let go, as on a pipe that
// nobody reads.
type stuckHandler struct {
	slog.Handler
	goOn    chan struct{}
	written atomic.Int64
	dropped atomic.Int64 // as told
}

func (h *stuckHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *stuckHandler) Handle(_ context.Context, r slog.Record) error {
	<-h.goOn
	h.written.Add(1)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "dropped" {
			h.dropped.Add(a.Value.Int64())
		}
		return true
	})
	return nil
}

func TestMessagesThatNobodyReadsDoNotPileUp(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		const most = 2000
		h := &stuckHandler{goOn: make(chan struct{})}
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
			zklock.WithDialer(b.server.Dial), zklock.WithLogger(slog.New(h)))
		require.NoError(t, err)
		defer s.Close()
		b.server.Refuse(true)
		b.server.Cut()
		time.Sleep(time.Hour)
		b.server.Refuse(false)
		close(h.goOn)
		held, err := b.locker(s).Acquire(t.Context())
		require.NoError(t, err)
		require.NoError(t, held.Release(t.Context()))
		time.Sleep(time.Minute)
		require.Less(t, h.written.Load(), int64(most))
		require.Positive(t, h.dropped.Load(), "it is told that some are missing")
	})
}
