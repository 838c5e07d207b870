package election_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/zktest"
)

func TestAnObserverIsToldThePresentStateAndThenEachChange(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		o := observe(t, connect(t, server))
		require.Equal(t, []string{nobody}, o.sees())
		before := time.Now()
		term := campaign(t, s, "one of 1 %=/\x00\xff")
		require.Equal(t, []string{"one of 1 %=/\x00\xff"}, o.sees())
		l := o.latest()
		require.Equal(t, term.Token(), l.Token)
		require.Equal(t, s.ID(), l.Session)
		require.NotEmpty(t, l.Host)
		require.NotZero(t, l.PID)
		require.WithinRange(t, l.Since, before.Add(-time.Second), time.Now().Add(time.Second))
		require.NoError(t, term.Proclaim(t.Context(), []byte("two")))
		require.Equal(t, []string{"two"}, o.sees())
		late := observe(t, s)
		require.Equal(t, []string{"two"}, late.sees())
		asked, err := election.Leader(t.Context(), s, path)
		require.NoError(t, err)
		require.Equal(t, o.latest(), asked)
		require.NoError(t, term.Resign(t.Context()))
		require.Equal(t, []string{nobody}, o.sees())
		require.Equal(t, []string{nobody}, late.sees())
		_, err = election.Leader(t.Context(), s, path)
		require.ErrorIs(t, err, election.ErrNoLeader)
		require.NoError(t, s.Close())
		require.ErrorIs(t, within(t, time.Second, late.ended), zklock.ErrClosed)
	})
}

// The next in line may be cut off when its turn comes, and end with its session.
func TestACandidateThatDiesBeforeItsTurnIsNeverSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		cut := server.Client("cut")
		first, second := connect(t, server), connect(t, server, zklock.WithDialer(cut.Dial))
		third, o := connect(t, server), observe(t, connect(t, server))
		o.sees()
		term := campaign(t, first, "first")
		run(t, newElection(t, second, election.WithValue([]byte("second"))))
		synctest.Wait()
		r := run(t, newElection(t, third, election.WithValue([]byte("third"))))
		synctest.Wait()
		require.Equal(t, []string{"first"}, o.sees())
		cut.Block(zktest.ToServer)
		require.NoError(t, term.Resign(t.Context()))
		require.Equal(t, []string{nobody}, o.sees())
		within(t, 2*timeout, r.leads)
		require.Equal(t, []string{"third"}, o.sees())
	})
}

// requests counts what the server was asked beside pings, and proofs of what is held, while do runs.
func requests(server *zktest.Server, do func()) (n int) {
	time.Sleep(time.Second)
	before := server.Requests()
	do()
	time.Sleep(time.Second)
	for op, count := range server.Requests() {
		switch op {
		case zktest.OpGetData, zktest.OpGetChildren, zktest.OpGetChildren2, zktest.OpExists, zktest.OpSync:
			n += count - before[op]
		}
	}
	return n
}

func TestAnObserverAsksOnceForEachChangeAndOnceAMinuteWhileNothingChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		conn := s.Conn() // who writes by hand asks for nothing else
		_, err := conn.Create("/app", nil, 0, everybody)
		require.NoError(t, err)
		_, err = conn.Create(path, nil, 0, everybody)
		require.NoError(t, err)
		candidate := func(value string) string {
			node, err := conn.CreateProtectedEphemeralSequential(path+"/lock-", []byte(value), everybody)
			require.NoError(t, err)
			return node
		}
		first := candidate("first")
		second, third, fourth := candidate("second"), candidate("third"), ""
		seen := connect(t, server)
		var o, same *observer
		require.Equal(t, 2, requests(server, func() {
			o, same = observe(t, seen), observe(t, seen)
		}), "the list and the leader, for all observers of the session")
		require.Zero(t, requests(server, func() {
			fourth = candidate("fourth")
			require.NoError(t, conn.Delete(third, -1))
		}), "candidates are no matter of the observers'")
		require.Equal(t, 2*60, requests(server, func() { time.Sleep(time.Hour) }), "a read, and another as the leader confirms it")
		require.Equal(t, 1, requests(server, func() {
			_, err := conn.Set(first, []byte("another value"), -1)
			require.NoError(t, err)
		}))
		require.Equal(t, 1, requests(server, func() { require.NoError(t, conn.Delete(first, -1)) }))
		require.Equal(t, []string{"first", "another value", "second"}, o.sees())
		require.Equal(t, []string{"first", "another value", "second"}, same.sees())
		require.Equal(t, 3, requests(server, func() { require.NoError(t, conn.Delete(second, -1)) }),
			"the next one known has gone, so that there is a list to ask for")
		require.Equal(t, []string{"fourth"}, o.sees())
		require.Equal(t, 1, requests(server, func() { require.NoError(t, conn.Delete(fourth, -1)) }), "nobody else is known")
		require.Equal(t, []string{nobody}, o.sees())
		require.Zero(t, requests(server, func() {
			server.CutSession(seen.ID())
			time.Sleep(time.Minute / 2)
		}), "the client has set the watches again")
		require.Empty(t, o.sees())
	})
}

func TestAnObserverMissesNothingWhileItIsWithoutAConnection(t *testing.T) {
	for name, ends := range map[string]func(*zktest.Server, *zklock.Session){
		"and its session goes on": func(server *zktest.Server, s *zklock.Session) {},
		"and its session expires": func(server *zktest.Server, s *zklock.Session) { server.ExpireSession(s.ID()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				s, place := connect(t, server), server.Client("observer")
				observing := connect(t, server, zklock.WithDialer(place.Dial))
				o := observe(t, observing)
				for _, change := range []struct {
					do   func()
					sees string
				}{
					{func() { campaign(t, s, "one") }, "one"},
					{func() {}, ""},
					{func() { require.NoError(t, s.Close()) }, nobody},
					{func() { s = connect(t, server); campaign(t, s, "two") }, "two"},
					{func() { require.NoError(t, s.Close()); s = connect(t, server); campaign(t, s, "two") }, "two"}, // another one
				} {
					o.sees()
					place.Block(zktest.ToServer)
					place.Cut()
					change.do()
					ends(server, observing)
					place.Unblock()
					time.Sleep(timeout)
					if told := o.sees(); change.sees == "" {
						require.Empty(t, told)
					} else {
						require.Equal(t, []string{change.sees}, told)
					}
				}
				require.NoError(t, s.Close()) // the watch stands
				require.Equal(t, []string{nobody}, o.sees())
			})
		})
	}
}

// They count transactions anew, and another leader may have the same token.
func TestAnotherLeaderOfServersThatHaveLostTheirDataIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		a, b, place := connect(t, server), connect(t, server), server.Client("observer")
		o := observe(t, connect(t, server, zklock.WithDialer(place.Dial)))
		writeUpTo := func(s *zklock.Session, zxid int64) {
			for at := int64(0); at < zxid; {
				node, err := s.Conn().Create("/other-", nil, zk.FlagSequence, everybody)
				require.NoError(t, err)
				_, stat, err := s.Conn().Get(node)
				require.NoError(t, err)
				at = stat.Czxid
			}
		}
		writeUpTo(a, 50)
		term := campaign(t, a, "")
		require.Equal(t, "", last(o.sees()))
		place.Block(zktest.ToServer) // it is the last to be back
		server.Ensemble().LoseData()
		server.Restart()
		<-term.Lost()
		_ = a.Close() // no server knows its session
		require.NoError(t, campaign(t, b, "").Resign(t.Context()))
		writeUpTo(b, term.Token()-1)
		require.Equal(t, term.Token(), campaign(t, b, "").Token())
		place.Unblock()
		time.Sleep(time.Hour)
		require.Equal(t, b.ID(), o.latest().Session)
	})
}

func TestWhatAnObserverWritesOnIsItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		term := campaign(t, connect(t, server), "one")
		var told []string
		ctx, stop := context.WithCancel(t.Context())
		var observing sync.WaitGroup
		observing.Go(func() {
			for leader := range election.Observe(ctx, connect(t, server), path) {
				told = append(told, string(leader.Value))
				clear(leader.Value)
			}
		})
		synctest.Wait()
		require.NoError(t, term.Proclaim(t.Context(), []byte("one")))
		synctest.Wait()
		require.NoError(t, term.Proclaim(t.Context(), []byte("two")))
		synctest.Wait()
		stop()
		observing.Wait()
		require.Equal(t, []string{"one", "two"}, told[:2])
	})
}

func TestObservingAgainAndAgainLeavesNoWatchesBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, observing := connect(t, server), connect(t, server)
		term := campaign(t, s, "one")
		look := func() {
			for leader, err := range election.Observe(t.Context(), observing, path) {
				require.NoError(t, err)
				require.Equal(t, "one", string(leader.Value))
				return
			}
		}
		look()
		require.Zero(t, requests(server, func() {
			for range 1000 {
				look()
			}
		}))
		require.NoError(t, term.Resign(t.Context()))
	})
}

func TestOfCuratorsLeaderTheFirstInLineIsSeenWithWhatItsNodeSays(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		o := observe(t, s)
		require.Equal(t, []string{nobody}, o.sees())
		for _, dir := range []string{"/app", path} {
			_, err := s.Conn().Create(dir, nil, 0, everybody)
			require.NoError(t, err)
		}
		for _, none := range []string{"not-a-candidate", "of-nobody-Z0000000001"} {
			_, err := s.Conn().Create(path+"/"+none, nil, 0, everybody)
			require.NoError(t, err)
		}
		_, err := s.Conn().Create(path+"/_c_5f0c3a3e-7b45-4d6e-9b0c-0f5a3c1f2e7a-lock-", []byte("a Java id"), zk.FlagEphemeral|zk.FlagSequence, everybody)
		require.NoError(t, err)
		require.Equal(t, []string{"a Java id"}, o.sees())
		require.Empty(t, o.latest().Host)
		_, err = s.Conn().Set(o.latest().Node, []byte("__REVOKE__"), -1)
		require.NoError(t, err)
		require.Equal(t, []string{""}, o.sees(), "it does not say the other anew")
		require.NoError(t, s.Conn().Delete(o.latest().Node, -1))
		_, err = s.Conn().Create(path+"/lock-", []byte("of no session"), zk.FlagSequence, everybody)
		require.NoError(t, err)
		_, err = s.Conn().Create(path+"/lock-", []byte("waits for ever"), zk.FlagSequence|zk.FlagEphemeral, everybody)
		require.NoError(t, err)
		require.Equal(t, nobody, last(o.sees()), "what goes with no session is no leader")
	})
}

func TestOfALocksHolderItIsSeenWhatItsNodeSays(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term, o := campaign(t, s, "one"), observe(t, s)
		l, err := zklock.New(s, path)
		require.NoError(t, err)
		var waiting sync.WaitGroup
		waiting.Go(func() { _, _ = l.Acquire(t.Context()) })
		require.Equal(t, []string{"one"}, o.sees())
		node := path + "/" + slices.Max(server.Children(path))
		says := func(data []byte) {
			_, err := s.Conn().Set(node, data, -1)
			require.NoError(t, err)
		}
		says([]byte("__REVOKE__")) // by which Curator replaces what it said
		require.NoError(t, term.Resign(t.Context()))
		waiting.Wait()
		require.Equal(t, []string{nobody}, o.sees(), "who leads has yet to say so")
		says(nil)
		require.Equal(t, []string{""}, o.sees())
		says([]byte("whatever"))
		require.Equal(t, []string{"whatever"}, o.sees())
		says([]byte("host=web1 pid=7"))
		require.Equal(t, []string{""}, o.sees())
		require.Equal(t, "web1", o.latest().Host)
		require.WithinDuration(t, time.Now(), o.latest().Since, time.Minute)
		says([]byte("host=web1 pid=7 held=2020-01-02T03:04:05Z")) // as zklock run does
		require.Empty(t, o.sees())
		leader, err := election.Leader(t.Context(), s, path)
		require.NoError(t, err)
		require.Equal(t, time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), leader.Since)
		for _, theirs := range []string{"host=web1 port=8080", "pid=7", "election=candidate"} {
			says([]byte(theirs))
			require.Equal(t, []string{theirs}, o.sees(), "it need not say whose it is")
			require.Empty(t, o.latest().Host)
			require.Zero(t, o.latest().PID)
		}
	})
}

func TestAnObserverSeesPastAllWhoHaveLeftTheLine(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		conn := connect(t, server).Conn()
		term := campaign(t, connect(t, server), "first")
		var waiting []string
		for range 150 {
			node, err := conn.CreateProtectedEphemeralSequential(path+"/lock-", nil, everybody)
			require.NoError(t, err)
			waiting = append(waiting, node)
		}
		o := observe(t, connect(t, server)) // knows all of the line
		require.Equal(t, []string{"first"}, o.sees())
		for _, node := range waiting {
			require.NoError(t, conn.Delete(node, -1))
		}
		require.NoError(t, term.Resign(t.Context()))
		require.Equal(t, []string{nobody}, o.sees())
	})
}

// One of them is of a path that is not there yet.
func TestALookWhoseAnswerIsLostIsMadeAgain(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpGetChildren2, zktest.OpExists, zktest.OpGetData} {
		inBubble(t, func(t *testing.T, server *zktest.Server) {
			place := server.Client("observer")
			observing := connect(t, server, zklock.WithDialer(place.Dial))
			_, _, _, err := observing.Conn().ExistsW("/") // there is a watch to be set again
			require.NoError(t, err)
			if op == zktest.OpGetData {
				campaign(t, connect(t, server), "before")
			}
			lost := server.DropReply(op, zktest.OnClient(place))
			o := observe(t, observing)
			<-lost.Struck()
			time.Sleep(time.Minute)
			if op != zktest.OpGetData {
				campaign(t, connect(t, server), "then")
			}
			require.NotEqual(t, nobody, last(o.sees()))
		})
	}
}

func TestAnObserverEndsWithItsSessionThoughAnAnswerComesMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		campaign(t, connect(t, server), "one")
		s := connect(t, server)
		held := server.HoldReply(zktest.OpGetData)
		o := observe(t, s)
		<-held.Struck()
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		held.Release()
		require.NoError(t, <-closed)
		require.ErrorIs(t, within(t, time.Second, o.ended), zklock.ErrClosed)
	})
}

func TestAnElectionIsBelowTheSessionsChroot(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, err := zklock.Connect(t.Context(), []string{server.PipeAddr() + "/team"}, timeout, zklock.WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		o := observe(t, s)
		require.Equal(t, []string{nobody}, o.sees())
		term := campaign(t, s, "one")
		require.Equal(t, []string{"one"}, o.sees())
		require.True(t, strings.HasPrefix(o.latest().Node, "/team"+path+"/"))
		leader, err := election.Leader(t.Context(), s, path)
		require.NoError(t, err)
		require.Equal(t, o.latest(), leader)
		require.ErrorContains(t, term.Proclaim(t.Context(), make([]byte, 1<<20)), "/team"+path)
		require.NoError(t, s.Close())
	})
}

func TestWhoMayNotReadTheElectionIsToldSo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		campaign(t, s, "one")
		o := observe(t, connect(t, server))
		require.Equal(t, []string{"one"}, o.sees())
		_, err := s.Conn().SetACL(path, zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(t, err)
		refused := observe(t, connect(t, server))
		require.ErrorIs(t, within(t, time.Second, refused.ended), zk.ErrNoAuth)
		_, err = election.Leader(t.Context(), s, path)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		for _, bad := range []string{"", "/", "no/slash", "/zookeeper/x"} {
			var failed error
			for _, err := range election.Observe(t.Context(), s, bad) {
				failed = err
			}
			require.Error(t, failed)
			require.NotErrorIs(t, failed, election.ErrNoLeader)
			_, err := election.Leader(t.Context(), s, bad)
			require.Error(t, err)
		}
	})
}

func TestNothingIsToldAfterTheEndOfTheContext(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		term := campaign(t, s, "one")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		observe(t, s) // has looked already when the loop would go on
		for leader := range election.Observe(ctx, s, path) {
			require.Equal(t, "one", string(leader.Value))
			cancel()
			require.NoError(t, term.Proclaim(t.Context(), []byte("two")))
			synctest.Wait()
		}
	})
}

func TestTheLoopEndsWithItsContextWhateverTheNetworkDoes(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		campaign(t, connect(t, server), "one")
		idle := time.Now()
		for leader := range election.Observe(limited(t), connect(t, server), path) {
			require.Equal(t, "one", string(leader.Value))
		}
		require.LessOrEqual(t, time.Since(idle), 1050*time.Millisecond)
		held := server.HoldReply(zktest.OpGetData)
		_, err := election.Leader(limited(t), s, path)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		held.Release()
		server.Freeze()
		defer server.Thaw()
		begun := time.Now()
		for range election.Observe(limited(t), s, path) {
			require.Fail(t, "nothing is known")
		}
		require.LessOrEqual(t, time.Since(begun), 1050*time.Millisecond)
		_, err = election.Leader(limited(t), s, path)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		server.Cut()
		_, err = election.Leader(limited(t), s, path)
		require.ErrorContains(t, err, "no connection")
	})
}
