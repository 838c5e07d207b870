package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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

func TestOfHoldsThatAreToBeWatchedEachIsWhenItsTurnHasCome(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		time.Sleep(2 * selfWatchDelay) // with a new connection all are watched
		var holds []*Hold
		for i := range 3 {
			holds = append(holds, take(t, lockAt(s, fmt.Sprintf("/lock%d", i))))
			time.Sleep(selfWatchDelay / 4)
		}
		time.Sleep(selfWatchDelay/4 + 1)
		for i := range holds {
			synctest.Wait()
			for n, h := range holds {
				require.Equal(t, n <= i, server.Watches()[h.Node()] == 1)
			}
			time.Sleep(selfWatchDelay / 4)
		}
	})
}
