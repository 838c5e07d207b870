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
		require.NoError(t, s.granted(a.waitsBy(context.Background(), takes(a.semaphore()))).Release(context.Background())) // there is the path
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

// Whom the list shows has gone when it is read, and somebody who has come meanwhile has the lock.
func TestRevokeAsksWhoHasComeBetweenItsListAndWhatItReads(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, operator := s.enter("a"), s.enter("b"), s.enter("operator")
		first := a.mustTake()
		read := s.HoldRequest(zktest.OpGetData, zktest.OnClient(operator.place))
		revoked := make(chan error, 1)
		go func() { revoked <- zklock.Revoke(context.Background(), operator.Session, path) }()
		<-read.Struck()
		waiting := b.waits(context.Background())
		require.NoError(t, a.give(first))
		second := s.granted(waiting)
		read.Release()
		require.NoError(t, <-revoked)
		<-second.Revoked()
		require.NoError(t, b.give(second))
	})
}

func TestRevokeAsksWhoHasTakenPermitsBetweenItsListAndWhatItReads(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, operator := s.enter("a"), s.enter("b"), s.enter("operator")
		first, err := takes(a.semaphore())(context.Background())
		require.NoError(t, err)
		read := s.HoldRequest(zktest.OpGetData, zktest.OnClient(operator.place))
		revoked := make(chan error, 1)
		go func() { revoked <- zklock.Revoke(context.Background(), operator.Session, permitsPath) }()
		<-read.Struck()
		require.NoError(t, first.Release(context.Background()))
		second, err := takes(b.semaphore())(context.Background())
		require.NoError(t, err)
		read.Release()
		require.NoError(t, <-revoked)
		<-second.Revoked()
		require.NoError(t, second.Release(context.Background()))
	})
}
