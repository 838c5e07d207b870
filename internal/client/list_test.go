package client

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// Who is between two looks at its session while that closes asks for a list of a closed
// session, and shares it with others.
func TestNobodyWaitsForAListOfAClosedSession(t *testing.T) {
	for name, underWay := range map[string]bool{"idle": false, "while a list is under way": true} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, s *Client) {
			var asked []*Reading
			if underWay {
				held := server.HoldReply(zktest.OpGetChildren2)
				defer held.Release()
				first := s.JoinList("/lock")
				asked = append(asked, first, s.JoinList("/lock"))
				require.NotSame(t, first, asked[1])
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
	}
}

// The list that is under way may show the queue as it was before.
func TestAListThatIsSharedIsNoOlderThanTheCallForIt(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *Client) {
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
		after := []*Reading{s.JoinList("/lock"), s.JoinList("/lock")}
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

// A server that lags may show the queue as it was before the session's last event.
func TestAListOverANewConnectionFollowsAWriteInOneRoundTrip(t *testing.T) {
	for _, path := range []string{"/", "/missing"} { // a check that fails is a write too
		runInSession(t, path, func(t *testing.T, server *zktest.Server, s *Client) {
			held := server.HoldReply(zktest.OpMulti, zktest.OnPath(path)) // a multi of nothing need not be committed
			listed := s.JoinList(path)
			<-held.Struck()
			synctest.Wait()
			require.Equal(t, 1, server.Requests()[zktest.OpGetChildren2], "it does not wait for the write's answer")
			require.False(t, latch.IsClosed(listed.done))
			held.Release()
			list, err := listed.Wait(t.Context())
			require.NoError(t, err)
			require.True(t, list.Link == s.Current() && list.Link.CaughtUp())
			_, err = s.JoinList(path).Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, server.Requests()[zktest.OpMulti], "once for a connection")
		})
	}
}

func TestAListWithoutAWriteAheadDecidesNothing(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *Client) {
		server.RefuseRequest(zktest.OpMulti, -127)
		_, err := s.JoinList("/").Wait(t.Context())
		require.ErrorIs(t, err, ErrStale)
		server.DropRequest(zktest.OpMulti)
		_, err = s.JoinList("/").Wait(t.Context())
		require.ErrorIs(t, err, zk.ErrConnectionClosed)
		time.Sleep(time.Minute)
		read := Children("/")
		s.Send(wire.NewTransaction(Check("/")), read)
		server.Cut()
		require.ErrorIs(t, Wait(t.Context(), read), zk.ErrConnectionClosed)
		_, err = s.Decides(read)
		require.ErrorIs(t, err, ErrStale, "another connection has taken its place")
	})
}

func TestWithoutAConnectionNothingIsListed(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	_, err := c.JoinList("/").Wait(t.Context())
	require.ErrorIs(t, err, zk.ErrConnectionClosed)
}

func TestAListIsWorthSomethingOverTheConnectionThatItWasAskedOver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
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

		over := func(path string) (*List, error) {
			read := Children(path)
			s.Send(read)
			<-read.Done()
			return s.ListOf(path, read)
		}
		list, err := over("/lock")
		require.NoError(t, err)
		require.True(t, list.Link == l)
		require.Equal(t, []string{"a"}, list.Names)
		list, err = over("/missing")
		require.NoError(t, err)
		require.True(t, list.Missing)
		require.Empty(t, list.Names)
		require.Equal(t, []string{"listed /lock [a]", "listed /missing []"}, o.all())

		_, err = over("/secret")
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of /secret does not let this session list its children: ")
		read := Children("/lock")
		s.Send(read)
		<-read.Done()
		s.mu.Lock()
		s.link = nil // it has ended just now
		s.mu.Unlock()
		_, err = s.ListOf("/lock", read)
		require.ErrorIs(t, err, ErrStale)
		require.NotContains(t, fmt.Sprint(o.all()), "listed")
	})
}

// A server that lags answers the sync when it has caught up, and the list behind it: one round
// trip does for both.
func TestAFreshListIsAskedForBehindASyncOverTheSameConnection(t *testing.T) {
	for name, ctx := range map[string]context.Context{"for a call without an end": context.Background(), "for any other": nil} {
		virtual.Run(t, name, func(t *testing.T) {
			if ctx == nil {
				ctx = t.Context()
			}
			server := zktest.NewServer(t)
			s := connect(t, server, server.Dial)
			_, err := s.Conn.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			held := server.HoldReply(zktest.OpSync, zktest.OnPath("/lock"))
			listed := make(chan error, 1)
			over, v := s.LogStalls(ctx, "/lock")
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
	}
}

func TestAFreshListEndsWithItsCallWhateverItWaitsFor(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	c := unconnected(t, slog.New(slog.DiscardHandler))
	_, err := c.FreshList(ended, "/lock")
	require.ErrorIs(t, err, context.Canceled, "for a connection")
	inSession(t, func(t *testing.T, server *zktest.Server, s *Client) {
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

// A handoff asks under the client's own ctx.
func TestAListThatIsNotThereYetIsNotLookedAtWhenTheClientIsClosed(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		held := server.HoldReply(zktest.OpGetChildren2)
		failed := make(chan error, 1)
		go func() {
			_, err := c.FreshList(c.Context(), "/")
			failed <- err
		}()
		<-held.Struck()
		go c.Close(time.Second)
		require.ErrorIs(t, <-failed, ErrClosed)
		held.Release()
	})
}

func TestOfTwoListsOneIsOlderByItsTransactionFirst(t *testing.T) {
	require.True(t, Generation{1, 5}.Before(Generation{2, 4}))
	require.False(t, Generation{2, 4}.Before(Generation{1, 5}))
	require.True(t, Generation{1, 4}.Before(Generation{1, 5}))
	require.False(t, Generation{1, 5}.Before(Generation{1, 5}))
}

func TestAStatThatCameOverAnotherConnectionDecidesNothing(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		there := Exists("/")
		require.NoError(t, c.Ask(t.Context(), there))
		_, err := c.StatOf(there)
		require.NoError(t, err)
		missing := Exists("/missing")
		require.Equal(t, zk.ErrNoNode, c.Ask(t.Context(), missing))
		list, err := c.StatOf(missing)
		require.NoError(t, err)
		require.True(t, list.Missing)
		server.Cut()
		synctest.Wait()
		_, err = c.StatOf(there)
		require.Equal(t, ErrStale, err)
	})
}
