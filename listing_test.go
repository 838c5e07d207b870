package zklock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// Who is between two looks at its session while that closes asks for a list of a
// closed session, and shares it with others.
func TestNobodyWaitsForAListOfAClosedSession(t *testing.T) {
	for name, underWay := range map[string]bool{"idle": false, "while a list is under way": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
				require.NoError(t, err)
				var asked []*pending[*listing]
				if underWay {
					held := server.HoldReply(zktest.OpGetChildren2)
					defer held.Release()
					first := s.joinList("/lock")
					asked = append(asked, s.joinList("/lock"))
					require.NotSame(t, first, asked[0])
					<-held.Struck()
				}
				s.Close()
				for range 3 {
					asked = append(asked, s.joinList("/lock"))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for _, list := range asked {
					_, err := list.wait(ctx)
					require.ErrorIs(t, err, ErrClosed)
				}
			})
		})
	}
}

// The list that is under way may show the queue as it was before.
func TestAListThatIsSharedIsNoOlderThanTheCallForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		l, err := New(s, "/lock")
		require.NoError(t, err)
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)

		held := server.HoldReply(zktest.OpGetChildren2)
		before := s.joinList("/lock")
		<-held.Struck()
		other, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
		require.NoError(t, err)
		defer other.Close()
		second, err := New(other, "/lock")
		require.NoError(t, err)
		go second.Acquire(t.Context())
		synctest.Wait()
		after := []*pending[*listing]{s.joinList("/lock"), s.joinList("/lock")}
		require.Same(t, after[0], after[1])
		held.Release()
		old, err := before.wait(t.Context())
		require.NoError(t, err)
		require.Len(t, old.names, 1)
		fresh, err := after[0].wait(t.Context())
		require.NoError(t, err)
		require.Len(t, fresh.names, 2)
		synctest.Wait()
		require.Empty(t, s.lists)
		require.NoError(t, h.Release(t.Context()))
	})
}
