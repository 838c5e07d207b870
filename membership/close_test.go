package membership_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

func TestAnAnswerThatComesWhileTheSessionIsClosedIsReadByNobody(t *testing.T) {
	server := zktest.NewServer(t)
	s, err := zklock.Connect(t.Context(), []string{server.Addr()}, 10*time.Second)
	require.NoError(t, err)
	create(t, s.Conn(), "/app", 0)
	held := server.HoldReply(zktest.OpMulti)
	joined, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := membership.Join(context.WithoutCancel(t.Context()), s, path, nil)
		joined <- err
	}()
	<-held.Struck()
	go func() { closed <- s.Close() }()
	eventually(t, "the client to say goodbye, or to be cut", func() bool {
		return server.Requests()[zktest.OpCloseSession] > 0 || len(closed) > 0
	})
	held.Release()
	<-closed
	require.ErrorIs(t, <-joined, zklock.ErrClosed)
}

func TestAMemberOfAClosedSessionIsNotRegistered(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		var states []membership.State
		m := join(t, s, "one", notes(&states))
		gone := join(t, s, "two")
		require.NoError(t, gone.Leave(t.Context()))
		left := gone.State()
		require.NoError(t, s.Close())
		require.Empty(t, server.Children(path))
		_, err := membership.Join(t.Context(), s, path, nil)
		require.ErrorIs(t, err, zklock.ErrClosed)
		ended := membership.State{Registrations: 1, Err: zklock.ErrClosed}
		require.Equal(t, ended, m.State())
		require.Equal(t, left, gone.State())
		require.NoError(t, m.Leave(t.Context()))
		require.Equal(t, ended, m.State())
		require.Len(t, states, 2)
		require.Equal(t, ended, states[1])
	})
}

// A function of the user has yet to return, and hears of everything in its order.
func TestAMemberWhoseUserIsBusyKnowsThatItsSessionIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server)
		busy := make(chan struct{})
		defer close(busy)
		m := join(t, s, "one", membership.WithNotify(func(state membership.State) {
			if !state.Registered {
				<-busy
			}
		}))
		require.NoError(t, operator.Conn().Delete(path+"/"+m.ID(), -1))
		synctest.Wait()
		require.NoError(t, s.Close())
		require.Equal(t, membership.State{Registrations: 2, Err: zklock.ErrClosed}, m.State())
	})
}

func TestOfAMemberOnlyItsUsersFunctionOutlivesItsSession(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		busy := make(chan struct{})
		defer close(busy)
		join(t, s, "one", membership.WithNotify(func(membership.State) { <-busy }))
		require.NoError(t, s.Close())
		stacks := make([]byte, 1<<20)
		require.NotContains(t, string(stacks[:runtime.Stack(stacks, true)]), "membership.(*Member).keep")
	})
}

// go-zookeeper asks for its watches meanwhile. The race detector judges it, which a bubble's clock would hide it from.
func TestTheEndOfASessionThatIsLoggingInAgainRacesWithNothing(t *testing.T) {
	server := zktest.NewServer(t)
	s, err := zklock.Connect(t.Context(), []string{server.Addr()}, 10*time.Second, zklock.WithAuth("digest", []byte("user:password")))
	require.NoError(t, err)
	join(t, s, "one")
	require.NoError(t, s.Ping(t.Context()))
	held := server.HoldRequest(zktest.OpAuth)
	server.Cut()
	<-held.Struck()
	require.ErrorContains(t, s.Close(), "no server confirmed it")
	held.Release()
}
