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

// Who waits for a turn may soon have to list the queue, and is then to be watched later.
func TestANodeThatIsToBeWatchedSoonIsWatchedThen(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		s.mu.Lock()
		soon := h.contender.selfWatch
		h.contender.watchSelfLater(&s.listersWatches)
		then := h.contender.selfWatch
		s.mu.Unlock()
		require.Equal(t, soon, then)
		require.False(t, soon.IsZero())
		require.NoError(t, h.Release(t.Context(), nil))
	})
}
