package membership_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

func TestAWatchShowsTheMembersAtOnceAndThenEveryChangeOldestFirst(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		a, b := join(t, s, "a"), join(t, s, "b")
		seen := watch(t, connect(t, server))
		seen.await(t, "a", "b")
		require.Equal(t, 1, seen.lists(), "the first list is whole")
		join(t, s, "c")
		seen.await(t, "a", "b", "c")
		require.NoError(t, a.Leave(t.Context()))
		seen.await(t, "b", "c")
		require.NoError(t, b.Update(t.Context(), []byte("B")))
		seen.await(t, "B", "c")
		require.Equal(t, 4, seen.lists(), "no list twice")

		peer := seen.latest()[0]
		require.Equal(t, b.ID(), peer.ID)
		require.Equal(t, s.ID(), peer.Session)
		require.WithinDuration(t, time.Now(), peer.Joined, time.Minute)
	})
}

func TestAWatchWaitsForAPathThatIsNotThere(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		seen := watch(t, connect(t, server))
		seen.await(t)
		require.Equal(t, 1, seen.lists(), "that there is nobody is a list too")
		s := connect(t, server)
		m := join(t, s, "a")
		seen.await(t, "a")
		require.NoError(t, m.Leave(t.Context()))
		require.NoError(t, s.Conn().Delete(path, -1))
		seen.await(t)
		join(t, s, "b")
		seen.await(t, "b")
	})
}

func TestAPathThatIsMadeWhileAWatchLooksForItIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		held := server.HoldReply(zktest.OpGetChildren2, zktest.OnPath(path))
		seen := watch(t, connect(t, server), membership.WithInterval(time.Hour))
		<-held.Struck()
		join(t, connect(t, server), "a")
		held.Release()
		seen.await(t, "a")
	})
}

func TestEveryEphemeralChildIsAMember(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "ours")
		for name, flag := range map[string]int32{"theirs": zk.FlagEphemeral, "settings": zk.FlagPersistent} {
			_, err := s.Conn().Create(path+"/"+name, []byte(name), flag, everybody)
			require.NoError(t, err)
		}
		watch(t, s).await(t, "ours", "theirs")
		require.NoError(t, m.Leave(t.Context()))
	})
}

func TestAWatchEndsWithItsContextAndWithItsSession(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		cancelled, closed := watch(t, s), watch(t, s)
		cancelled.await(t)
		closed.await(t)
		cancelled.cancel()
		<-cancelled.ended
		require.NoError(t, cancelled.err)
		require.NoError(t, s.Close())
		<-closed.ended
		require.ErrorIs(t, closed.err, zklock.ErrClosed)
	})
}

func TestManyChangesShowInFewLists(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		lists := 0
		for peers, err := range membership.Watch(t.Context(), connect(t, server), path) {
			require.NoError(t, err)
			if lists++; lists == 1 { // while the body runs, nothing is lost
				for i := range 40 {
					m := join(t, s, fmt.Sprint(i))
					if i%2 == 0 {
						require.NoError(t, m.Leave(t.Context()))
					}
				}
			}
			if len(peers) == 20 {
				break
			}
		}
		require.LessOrEqual(t, lists, 3)
	})
}

func TestAWatchOutlivesItsConnectionsAndItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		place := server.Client("watching")
		watching := connect(t, server, zklock.WithDialer(place.Dial))
		seen, s := watch(t, watching), connect(t, server)
		var want []string
		for i := range 10 {
			place.Cut()
			want = append(want, fmt.Sprint(i))
			join(t, s, want[i])
		}
		seen.await(t, want...)
		require.True(t, server.ExpireSession(watching.ID()))
		join(t, s, "last")
		seen.await(t, append(want, "last")...)
	})
}

func TestAWatchOutlivesAServerThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		ensemble := zktest.NewEnsemble(t, 3)
		s, err := zklock.Connect(t.Context(), ensemble.PipeAddrs(), timeout, zklock.WithDialer(ensemble.Dial))
		require.NoError(t, err)
		defer s.Close()
		seen := watch(t, s)
		m := join(t, s, "a")
		seen.await(t, "a")
		for _, session := range ensemble.Sessions() {
			session.Server.Freeze()
			defer session.Server.Thaw()
		}
		require.NoError(t, m.Update(t.Context(), []byte("A")))
		seen.await(t, "A")
	})
}

// deaf is a connection over which the server never hears of the watches that the client sets
// again after a reconnect, as often as is left.
type deaf struct {
	net.Conn
	left *atomic.Int64
}

func (d deaf) Write(p []byte) (int, error) {
	const opSetWatches = 101
	if len(p) >= 12 && slices.Equal(p[8:12], []byte{0, 0, 0, opSetWatches}) && d.left.Add(-1) >= 0 {
		return len(p), nil
	}
	return d.Conn.Write(p)
}

// connectDeaf opens a session from that place that is deaf once.
func connectDeaf(t *testing.T, server *zktest.Server, place *zktest.Client) (s *zklock.Session, wasDeaf func() bool) {
	t.Helper()
	left := new(atomic.Int64)
	left.Store(1)
	s = connect(t, server, zklock.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
		conn, err := place.Dial(network, addr, d)
		return deaf{conn, left}, err
	}))
	return s, func() bool { return left.Load() <= 0 }
}

func TestAChangeShowsWithinTheIntervalIfTheWatchesAreLost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		place := server.Client("watching")
		watching, wasDeaf := connectDeaf(t, server, place)
		s := connect(t, server)
		m, still := join(t, s, "a"), join(t, s, "s")
		seen := watch(t, watching, membership.WithInterval(5*time.Second))
		seen.await(t, "a", "s")
		place.Cut()
		eventually(t, "a reconnect", wasDeaf)

		start := time.Now()
		join(t, s, "b")
		require.NoError(t, m.Update(t.Context(), []byte("A")))
		seen.await(t, "A", "s", "b")
		require.Greater(t, time.Since(start), time.Second, "a watch has told, the test shows nothing")
		require.LessOrEqual(t, time.Since(start), 6*time.Second)
		start = time.Now()
		join(t, s, "c")
		require.NoError(t, still.Update(t.Context(), []byte("S")))
		seen.await(t, "A", "S", "b", "c")
		require.Less(t, time.Since(start), time.Second, "the watches stand again")
		since := reads(server)
		time.Sleep(time.Minute)
		require.Zero(t, since()[zktest.OpGetData], "and are relied on")
	})
}

// Another watch of each node would stay beside the one that stands: go-zookeeper keeps it until it fires.
func TestWatchesThatAConnectionHasNotSetAgainTellOverTheNextOfAllChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		const n = 20
		writer, place := connect(t, server).Conn(), server.Client("watching")
		crowd(t, writer, n)
		watching, wasDeaf := connectDeaf(t, server, place)
		seen := watch(t, watching, membership.WithInterval(time.Minute))
		eventually(t, "the list", func() bool { return len(seen.latest()) == n })
		place.Cut()
		eventually(t, "a reconnect", wasDeaf)
		since := reads(server)
		write(t, writer, path+"/member-7", "unseen")
		_, _, err := watching.Conn().Get("/") // the server is not asked for what has changed before
		require.NoError(t, err)
		require.Equal(t, "7", string(seen.latest()[7].Data), "a watch has told, the test shows nothing")
		start := time.Now()
		place.Cut()
		eventually(t, "the change", func() bool { return string(seen.latest()[7].Data) == "unseen" })
		require.Less(t, time.Since(start), time.Second)
		require.Equal(t, map[zktest.Op]int{zktest.OpGetData: 2}, since(), "one was read anew")
	})
}

// They count transactions anew: of a node that is made as it was before, only the session differs.
func TestAMemberOfServersThatHaveLostTheirDataIsAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, before *zktest.Server) {
		servers := make(chan *zktest.Server, 1)
		servers <- before
		watching := connect(t, before, zklock.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
			server := <-servers
			servers <- server
			return server.Dial(network, addr, d)
		}))
		member := func(s *zklock.Session, text string) (czxid int64) {
			for _, dir := range []string{"/app", path} {
				create(t, s.Conn(), dir, zk.FlagPersistent)
			}
			_, err := s.Conn().Create(path+"/host", []byte(text), zk.FlagEphemeral, everybody)
			require.NoError(t, err)
			_, stat, err := s.Conn().Exists(path + "/host")
			require.NoError(t, err)
			return stat.Czxid
		}
		first := member(connect(t, before), "before")
		seen := watch(t, watching)
		seen.await(t, "before")

		after := zktest.NewServer(t)
		s := connect(t, after)
		connect(t, after) // there were two
		require.Equal(t, first, member(s, "after"))
		<-servers
		servers <- after
		before.Cut()
		seen.await(t, "after")
	})
}

// A create leaves pzxid as it is from then on, by which a server tells whether a watch that is set
// again has missed a change.
func TestAMemberThatJoinsAtTheEndOfTheCounterIsShown(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		place := server.Client("watching")
		watching := connect(t, server, zklock.WithDialer(place.Dial))
		s := connect(t, server)
		join(t, s, "a")
		server.SetSequence(path, math.MaxInt32)
		seen := watch(t, watching, membership.WithInterval(5*time.Second))
		seen.await(t, "a")
		place.Block(zktest.ToServer)
		place.Cut()
		join(t, s, "b")
		place.Unblock()
		seen.await(t, "a", "b")
	})
}

// requireForgotten requires that rounds leave next to nothing in memory.
func requireForgotten(t *testing.T, rounds int, round func()) {
	t.Helper()
	heap := func(rounds int) uint64 {
		for range rounds {
			round()
		}
		synctest.Wait()
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap(100)
	require.Less(t, heap(rounds), before+uint64(rounds)*50)
}

func TestPollingAddsNoWatches(t *testing.T) {
	for name, exists := range map[string]bool{"a path": true, "a path that is not there": false} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
			if exists {
				join(t, connect(t, server), "a")
			}
			requireForgotten(t, 5000, func() {
				for _, err := range membership.Watch(t.Context(), s, path) {
					require.NoError(t, err)
					break
				}
			})
		})
	}
}

func TestMembersThatComeAndGoAreForgotten(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		seen := watch(t, connect(t, server))
		requireForgotten(t, 2000, func() {
			m := join(t, s, "briefly")
			seen.await(t, "briefly")
			require.NoError(t, m.Leave(t.Context()))
			seen.await(t)
			seen.forget()
		})
	})
}

func TestListsThatComeAndGoAreForgotten(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		conn, n := connect(t, server).Conn(), 0
		requireForgotten(t, 1500, func() {
			n++
			node := fmt.Sprint("/servers-", n)
			create(t, conn, node, 0)
			for range membership.Watch(t.Context(), s, node, membership.WithInterval(time.Millisecond)) {
				break
			}
			require.NoError(t, conn.Delete(node, -1))
			time.Sleep(time.Millisecond)
		})
	})
}

func TestPollingAServerThatHangsDoesNotPileUpWork(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		join(t, s, "a")
		watch(t, s).await(t, "a")
		server.Freeze()
		before := runtime.NumGoroutine()
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
			for range membership.Watch(ctx, s, path) {
			}
			cancel()
		}
		require.Less(t, runtime.NumGoroutine(), before+20)
		server.Thaw()
	})
}
