package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A server that takes long to answer is no reason to leave it the session's nodes.
func TestCloseIsHeardByAFarServerThoughAProofIsUnderWay(t *testing.T) {
	const delay = 120 * time.Millisecond // each way
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t, zktest.NewServer(t, zktest.WithLatency(delay, delay)), "/lock"}
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(b.server.Dial))
		require.NoError(t, err)
		b.locker(s).Lock()
		proofs := func() int64 { return int64(b.server.Requests()[zktest.OpMulti]) }
		for before := proofs(); proofs() == before; {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, s.Close())
		time.Sleep(delay)
		require.Zero(t, b.queue())
	})
}
