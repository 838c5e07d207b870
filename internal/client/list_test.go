package client

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// Who is between two looks at its session while that closes asks for a list of a closed
// session, and shares it with others.
func TestNobodyWaitsForAListOfAClosedSession(t *testing.T) {
	for name, underWay := range map[string]bool{"idle": false, "while a list is under way": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				s := connect(t, server, server.Dial)
				var asked []*Call[*List]
				if underWay {
					held := server.HoldReply(zktest.OpGetChildren2)
					defer held.Release()
					first := s.JoinList("/lock")
					asked = append(asked, s.JoinList("/lock"))
					require.NotSame(t, first, asked[0])
					<-held.Struck()
				}
				s.Close(RequestPatience)
				for range 3 {
					asked = append(asked, s.JoinList("/lock"))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for _, list := range asked {
					_, err := list.Wait(ctx)
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
		s := connect(t, server, server.Dial)
		other := connect(t, server, server.Dial)
		for _, path := range []string{"/lock", "/lock/first"} {
			_, err := other.Conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}

		held := server.HoldReply(zktest.OpGetChildren2)
		before := s.JoinList("/lock")
		<-held.Struck()
		_, err := other.Conn.Create("/lock/second", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		after := []*Call[*List]{s.JoinList("/lock"), s.JoinList("/lock")}
		require.Same(t, after[0], after[1])
		held.Release()
		old, err := before.Wait(t.Context())
		require.NoError(t, err)
		require.Len(t, old.Names, 1)
		fresh, err := after[0].Wait(t.Context())
		require.NoError(t, err)
		require.Len(t, fresh.Names, 2)
		synctest.Wait()
		require.Empty(t, s.lists.reads)
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
		s := connect(t, server, func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := server.Dial(network, address, timeout)
			return &gate{conn, &shut}, err
		})
		opened := make(chan struct{})
		shut.Store(&opened)
		go s.Conn.Exists("/ahead") // waits in its write, and what comes after it in the client
		synctest.Wait()
		caughtUp := make(chan error, 1)
		go func() {
			_, err := s.CatchUp("/missing")
			caughtUp <- err
		}()
		synctest.Wait()
		first := s.Current()
		server.Cut()
		shut.Store(nil)
		close(opened)
		require.ErrorIs(t, <-caughtUp, ErrStale)
		require.NotNil(t, s.Current())
		require.False(t, first == s.Current())
		require.Positive(t, server.Requests()[zktest.OpMulti], "it was answered")
	})
}

// Who waits while another one's write catches up may find another connection.
func TestNobodyCatchesUpOnAConnectionThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := connect(t, server, server.Dial)
		first := s.Current()
		first.CatchingUp <- struct{}{}
		caughtUp := make(chan error, 1)
		go func() {
			_, err := s.CatchUp("/")
			caughtUp <- err
		}()
		synctest.Wait()
		server.Cut()
		time.Sleep(time.Second)
		require.False(t, first == s.Current())
		<-first.CatchingUp
		require.ErrorIs(t, <-caughtUp, ErrStale)
		require.Zero(t, server.Requests()[zktest.OpMulti], "no request is made for nothing")
	})
}
