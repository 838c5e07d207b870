package queue

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestNoTimerIsLeftOfASessionThatIsClosed(t *testing.T) {
	runInSession(t, "by one that has fired meanwhile", func(t *testing.T, s *Session, _ *zktest.Server) {
		hold(t, s)
		s.Close()
		s.after(0, func() { require.Fail(t, "it goes on") })
		synctest.Wait()
	})
	runInSession(t, "by a connection that was made meanwhile", func(t *testing.T, s *Session, _ *zktest.Server) {
		l := s.client.Current()
		s.Close()
		s.Connected(l, sessionTimeout)
		require.False(t, s.watchAgain.Stop())
	})
}
