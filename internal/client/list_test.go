package client

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
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
	for _, path := range []string{"/missing", "/"} {
		t.Run(path, func(t *testing.T) {
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
					_, err := s.CatchUp(path)
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
		})
	}
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

func TestAConnectionCatchesUpByOneWriteForAll(t *testing.T) {
	for _, path := range []string{"/", "/missing"} { // a check that fails is a write too
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				s := connect(t, server, server.Dial)
				held := server.HoldReply(zktest.OpMulti, zktest.OnPath(path)) // a multi of nothing need not be committed
				var asked sync.WaitGroup
				for range 3 {
					asked.Go(func() {
						l, err := s.CatchUp(path)
						require.NoError(t, err)
						require.True(t, l == s.Current() && l.CaughtUp())
					})
				}
				<-held.Struck()
				synctest.Wait()
				held.Release()
				asked.Wait()
				require.Empty(t, s.Current().CatchingUp)
				s.Current().CatchingUp <- struct{}{}
				_, err := s.CatchUp(path)
				require.NoError(t, err, "it waits for nobody any more")
				require.Equal(t, 1, server.Requests()[zktest.OpMulti])
			})
		})
	}
}

func TestWithoutAConnectionNothingCatchesUp(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	_, err := c.CatchUp("/")
	require.ErrorIs(t, err, ErrStale)
	_, err = c.List("/")
	require.ErrorIs(t, err, ErrStale)
}

func TestAConnectionThatIsLostCatchesNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := connect(t, server, server.Dial)
		l := s.Current()
		server.DropRequest(zktest.OpMulti)
		_, err := s.List("/")
		require.ErrorIs(t, err, zk.ErrConnectionClosed)
		require.Empty(t, l.CatchingUp)
		require.Zero(t, server.Requests()[zktest.OpGetChildren2], "nothing is listed")
	})
}

func TestAListIsWorthSomethingOverTheConnectionThatItWasAskedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, o := zktest.NewServer(t), new(recorder)
		s := connectTold(t, server, server.Dial, o)
		for _, path := range []string{"/lock", "/lock/a", "/secret"} {
			acl := zk.WorldACL(zk.PermAll)
			if path == "/secret" {
				acl = zk.WorldACL(zk.PermAll &^ zk.PermRead)
			}
			_, err := s.Conn.Create(path, nil, 0, acl)
			require.NoError(t, err)
		}
		o.all()
		l := s.Current()

		list, err := s.ListOver(l, "/lock")
		require.NoError(t, err)
		require.True(t, list.Link == l)
		require.Equal(t, []string{"a"}, list.Names)
		list, err = s.ListOver(l, "/missing")
		require.NoError(t, err)
		require.Empty(t, list.Names)
		require.Equal(t, []string{"listed /lock [a]", "listed /missing []"}, o.all())

		for _, other := range []*wire.Link{nil, new(wire.Link)} {
			_, err = s.ListOver(other, "/lock")
			require.ErrorIs(t, err, ErrStale)
		}
		_, err = s.ListOver(l, "/secret")
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of /secret does not let this session list its children: ")
		s.mu.Lock()
		s.link = nil // it has ended just now
		s.mu.Unlock()
		for _, over := range []*wire.Link{l, nil} {
			_, err = s.ListOver(over, "/lock")
			require.ErrorIs(t, err, ErrStale)
		}
		server.DropRequest(zktest.OpGetChildren2)
		_, err = s.ListOver(l, "/lock")
		require.ErrorIs(t, err, zk.ErrConnectionClosed)
		require.NotContains(t, fmt.Sprint(o.all()), "listed")
	})
}

// A server that lags answers the sync when it has caught up, and the list behind it: one round
// trip does for both.
func TestAFreshListIsAskedForBehindASyncOverTheSameConnection(t *testing.T) {
	for name, ctx := range map[string]context.Context{"for a call without an end": context.Background(), "for any other": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if ctx == nil {
					ctx = t.Context()
				}
				server := zktest.NewServer(t)
				s := connect(t, server, server.Dial)
				_, err := s.Conn.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
				held := server.HoldReply(zktest.OpSync, zktest.OnPath("/lock"))
				listed := make(chan error, 1)
				over, v := s.WatchOver(ctx, "/lock")
				defer v.End()
				go func() {
					list, err := s.FreshList(over, "/lock")
					require.True(t, err != nil || list.Link == s.Current())
					listed <- err
				}()
				<-held.Struck()
				synctest.Wait()
				require.Equal(t, "a list of the queue", v.step)
				require.Equal(t, 1, server.Requests()[zktest.OpGetChildren2], "it does not wait for the sync's answer")
				require.Empty(t, listed)
				held.Release()
				require.NoError(t, <-listed)
				require.Equal(t, 1, server.Requests()[zktest.OpGetChildren2])

				server.RefuseRequest(zktest.OpSync, -5)
				_, err = s.FreshList(over, "/lock")
				require.Error(t, err, "no list without its sync")
				server.DropReply(zktest.OpSync)
				_, err = s.FreshList(over, "/lock")
				require.True(t, Transient(err), "%v", err)
				server.DropReply(zktest.OpGetChildren2)
				_, err = s.FreshList(over, "/lock")
				require.True(t, Transient(err), "%v", err)
			})
		})
	}
}

// The tap sees the frame of whoever sends the same request first.
func TestAFreshListIsAskedForThoughItsSyncWasTakenForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := connect(t, server, server.Dial)
		other := s.Tap(wire.Request{Op: wire.OpSync, Path: "/lock"}, func() {}) // takes the next one
		list, err := s.FreshList(t.Context(), "/lock")
		require.NoError(t, err)
		require.NotNil(t, list)
		l, _, _ := other.Fate()
		require.NotNil(t, l)

		another := s.Tap(wire.Request{Op: wire.OpSync, Path: "/lock"}, func() {})
		_, err = s.Conn.Sync("/lock")
		require.NoError(t, err)
		l, _, _ = another.Fate()
		require.NotNil(t, l, "nobody else waits to see one")
	})
}

func TestAFreshListEndsWithItsCallWhateverItWaitsFor(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	c := unconnected(t, slog.New(slog.DiscardHandler))
	_, err := c.FreshList(ended, "/lock")
	require.ErrorIs(t, err, context.Canceled, "for a connection")
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := connect(t, server, server.Dial)
		s.cleanups.count = maxUnclean
		_, err = s.FreshList(ended, "/lock")
		require.ErrorIs(t, err, context.Canceled, "for room")
		require.Zero(t, server.Requests()[zktest.OpSync])
		s.cleanups.count = 0

		held := server.HoldReply(zktest.OpSync)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.FreshList(ctx, "/lock")
		require.ErrorIs(t, err, context.DeadlineExceeded, "for the sync")
		synctest.Wait()
		require.Equal(t, 1, s.cleanups.count, "it counts until it is answered")
		held.Release()
		synctest.Wait()
		require.Zero(t, s.cleanups.count)

		held = server.HoldReply(zktest.OpGetChildren2)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.FreshList(ctx, "/lock")
		require.ErrorIs(t, err, context.DeadlineExceeded, "for the list")
		held.Release()
	})
}

// The session may be closed just when a list was begun: that one is in nobody's books.
func TestAListThatNobodyMayJoinEndsAlone(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	c.lists.listed("/lock")
	require.Empty(t, c.lists.reads)
}
