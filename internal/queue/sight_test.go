package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// alternately has n contenders of the two sessions stand in the queue, in turn, behind the holder that it
// returns; each has listed the queue.
func alternately(t *testing.T, n int, sessions ...*Session) (first *Hold, granted <-chan *Hold) {
	t.Helper()
	holds := make(chan *Hold, n)
	for i := range 1 + n {
		go func() {
			if h, err := lockAt(sessions[i%len(sessions)], "/lock").Acquire(t.Context(), nil); err == nil {
				holds <- h
			}
		}()
		synctest.Wait()
	}
	require.Len(t, holds, 1)
	return <-holds, holds
}

// inOrder returns the nodes of the queue.
func inOrder(server *zktest.Server) (nodes []string) {
	for _, n := range recipe.Queue(server.Children("/lock")) {
		nodes = append(nodes, "/lock/"+n.Name)
	}
	return nodes
}

// shown returns the contender of s that stands n-th, counted from 0, to which a list was shown.
func shown(t *testing.T, s *Session, server *zktest.Server, n int) *contender {
	t.Helper()
	list, err := s.client.JoinList("/lock").Wait(t.Context())
	require.NoError(t, err)
	s.mu.Lock()
	c := s.contenderAt(inOrder(server)[n])
	s.mu.Unlock()
	c.show(list)
	return c
}

// A list of a long queue is most of what a hand-over costs.
func TestWhoIsWokenDoesNotListAQueueThatItsSessionHasSeen(t *testing.T) {
	inSession(t, func(t *testing.T, one *Session, server *zktest.Server) {
		h, granted := alternately(t, 100, one, connect(t, server))
		lists := server.Requests()[zktest.OpGetChildren2]
		for range 100 {
			h = goOn(h, granted)
		}
		synctest.Wait()
		require.Equal(t, lists, server.Requests()[zktest.OpGetChildren2])
	})
}

// More of them would cost the server more than a list.
func TestWhoHasFewAheadOfItAsksForThose(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		const contenders = 41
		_, _ = alternately(t, contenders-1, s)
		for n := range contenders {
			_, nodes, ok := shown(t, s, server, n).ahead()
			require.Equal(t, n <= 1+contenders/namesPerNode, ok, n)
			if ok {
				require.Len(t, nodes, n)
			}
		}
	})
}

// There is nobody else for whom to keep it, nor to see to its end.
func TestWhatWhoIsAloneHasListedIsNotKept(t *testing.T) {
	for _, kind := range []recipe.Kind{recipe.Exclusive, recipe.Read} {
		inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
			c, _, err := lockAt(s, "/lock").Of(kind).enter(t.Context())
			require.NoError(t, err)
			_, err = c.list(t.Context())
			require.NoError(t, err)
			require.Empty(t, s.index.sights)
			<-c.leaveUnused().done.Done()
		})
	}
}

// Each of the two waits behind one that the other session's last list shows, and that has gone unseen.
func TestWhoIsAskedForAndStillThereIsWaitedFor(t *testing.T) {
	inSession(t, func(t *testing.T, one *Session, server *zktest.Server) {
		other := connect(t, server)
		h, granted := alternately(t, 40, one, other)
		for _, node := range inOrder(server)[2:39] { // by an operator
			require.NoError(t, connect(t, server).client.Ask(t.Context(), wire.NewTransaction(client.Delete(node))))
			synctest.Wait()
			require.Empty(t, granted)
		}
		for range 3 {
			h = goOn(h, granted)
			synctest.Wait()
			require.Empty(t, granted)
		}
	})
}

// Of a refusal nothing is known of those ahead. ZooKeeper 3.5 refuses each such request, and ends the connection.
func TestWhoIsRefusedWhenItAsksForThoseAheadListsTheQueue(t *testing.T) {
	for code, again := range map[int32]int{-6: 1, -102: 2} {
		inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
			_, _ = alternately(t, 40, s)
			for range 2 {
				server.RefuseRequest(zktest.OpMultiRead, code, zktest.OnPath("/lock/"))
				view, _ := shown(t, s, server, 2).askAhead(t.Context())
				require.Nil(t, view)
				time.Sleep(time.Second) // it may have to reconnect
			}
			require.Equal(t, again, server.Requests()[zktest.OpMultiRead])
		})
	}
}

// Nor is anything of those ahead if one of them may not be read.
func TestWhoMayNotReadANodeAheadListsTheQueue(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		secret := wire.Op{Code: wire.OpCreate, Path: "/lock/" + recipe.Stem("else", recipe.Exclusive), ACL: zk.DigestACL(zk.PermAll, "somebody", "else"), Flags: zk.FlagEphemeralSequential}
		_, _ = alternately(t, 1, s)
		require.NoError(t, s.client.Ask(t.Context(), wire.NewTransaction(secret)))
		c, view, err := lockAt(s, "/lock").enter(t.Context())
		require.NoError(t, err)
		require.Nil(t, view)
		view, err = c.list(t.Context())
		require.NoError(t, err)
		require.Len(t, view.Names, 4)
		s.index.sights["/lock"] = sight{view.List, 2} // one may be asked for of so few
		view, err = c.askAhead(t.Context())
		require.NoError(t, err)
		require.Nil(t, view)
		require.Equal(t, 1, server.Requests()[zktest.OpMultiRead])
	})
}

// Of a node that a create has left unknown to all calls only what is read of the queue tells.
func TestANodeOfOursThatNobodyKnowsIsDeletedWhenItIsAskedFor(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h, granted := alternately(t, 40, s, connect(t, server))
		node := h.contender.node
		next := shown(t, s, server, 2)
		s.forget(h.contender)
		view, err := next.askAhead(t.Context())
		require.NoError(t, err)
		require.Len(t, view.Names, 3)
		require.True(t, view.part) // it does not tell that nobody is behind
		synctest.Wait()
		require.NotContains(t, inOrder(server), node)
		<-granted
		s.mu.Lock()
		s.live[h.contender.id] = h.contender // which ends with its session
		s.mu.Unlock()
	})
}

func TestAnAnswerAboutThoseAheadCountsWhileItsConnectionStands(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		_, _ = alternately(t, 40, s)
		c := shown(t, s, server, 2)
		server.DropReply(zktest.OpMultiRead)
		_, err := c.askAhead(t.Context())
		require.ErrorIs(t, err, client.ErrStale)
	})
}

func TestWhoAsksForThoseAheadStopsWithItsCall(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		_, _ = alternately(t, 40, s)
		c := shown(t, s, server, 2)
		server.Freeze()
		ctx := within(t, time.Second)
		_, err := c.askAhead(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		server.Thaw()
	})
}
