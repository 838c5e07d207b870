package zklock

import (
	"context"
	"net"
	"sync/atomic"
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

// gate lets a connection's writes pass while it is open.
type gate struct {
	net.Conn
	open *atomic.Pointer[chan struct{}] // to the channel that the next write waits for, if any
}

func (g *gate) Write(p []byte) (int, error) {
	if c := g.open.Load(); c != nil {
		<-*c
	}
	return g.Conn.Write(p)
}

// That there is no such node, another server than the list's has said: it may lag.
func TestAnAnswerByAnotherConnectionCatchesNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		var shut atomic.Pointer[chan struct{}]
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second,
			WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				conn, err := server.Dial(network, address, timeout)
				return &gate{conn, &shut}, err
			}))
		require.NoError(t, err)
		defer s.Close()
		opened := make(chan struct{})
		shut.Store(&opened)
		go s.conn.Exists("/ahead") // waits in its write, and what comes after it in the client
		synctest.Wait()
		caughtUp := make(chan error, 1)
		go func() {
			_, err := s.catchUp("/missing")
			caughtUp <- err
		}()
		synctest.Wait()
		first := s.current()
		server.Cut()
		shut.Store(nil)
		close(opened)
		require.ErrorIs(t, <-caughtUp, errStale)
		require.NotNil(t, s.current())
		require.False(t, first == s.current())
		require.Positive(t, server.Requests()[zktest.OpMulti], "it was answered")
	})
}

// Who waits while another one's write catches up may find another connection.
func TestNobodyCatchesUpOnAConnectionThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		first := s.current()
		first.CatchingUp <- struct{}{}
		caughtUp := make(chan error, 1)
		go func() {
			_, err := s.catchUp("/")
			caughtUp <- err
		}()
		synctest.Wait()
		server.Cut()
		time.Sleep(time.Second)
		require.False(t, first == s.current())
		<-first.CatchingUp
		require.ErrorIs(t, <-caughtUp, errStale)
		require.Zero(t, server.Requests()[zktest.OpMulti], "no request is made for nothing")
	})
}
