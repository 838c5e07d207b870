package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// The watch that would tell of the mark is set a while after the grant.
func TestAReaderHearsWhatItWasAskedForAsAWriterWhoHadNotHeardOfIt(t *testing.T) {
	play(t, 1, func(s *stage) {
		rw, operator := s.enter("a").readWrite(), s.enter("operator")
		rw.Lock()
		require.NoError(t, zklock.Revoke(context.Background(), operator.Session, path))
		rw.RLock()
		rw.Unlock()
		time.Sleep(soon)
		require.False(t, isOpen(rw.RHeld().Revoked()))
		rw.RUnlock()
	})
}

func TestPermitsHearWhatWasAskedForInLineUnheard(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, operator := s.enter("a"), s.enter("operator")
		taking := s.HoldRequest(zktest.OpMulti, zktest.OnPath(permitsPath+"/leases/"))
		granted := a.waitsBy(context.Background(), takes(a.semaphore()))
		<-taking.Struck()
		found, err := zklock.Inspect(context.Background(), operator.Session, permitsPath)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.NoError(t, zklock.Revoke(context.Background(), operator.Session, found[0].Node))
		taking.Release()
		h := s.granted(granted)
		time.Sleep(soon)
		require.False(t, isOpen(h.Revoked()))
		require.NoError(t, h.Release(context.Background()))
	})
}
