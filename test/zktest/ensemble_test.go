package zktest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const (
	opCreate = int32(zktest.OpCreate)
	opDelete = int32(zktest.OpDelete)
	opMulti  = int32(zktest.OpMulti)
	opExists = int32(zktest.OpExists)
	opSync   = int32(zktest.OpSync)
	opPing   = int32(zktest.OpPing)
	noNode   = int32(-101)
)

// inBubble runs the test against an ensemble of three in virtual time. The leader is the last.
func inBubble(t *testing.T, fn func(t *testing.T, e *zktest.Ensemble), opts ...zktest.Option) {
	virtual.Test(t, func(t *testing.T) {
		opts = append([]zktest.Option{zktest.WithTickTime(200 * time.Millisecond)}, opts...)
		fn(t, zktest.NewEnsemble(t, 3, opts...))
	})
}

func at(t testing.TB, s *zktest.Server) *wire {
	t.Helper()
	return dialWire(t, s.Dial, "", 2*time.Second, nil)
}

func TestWhatOneServerWritesTheOthersShow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		for i, s := range e.Servers() {
			path := []string{"/a", "/b", "/c"}[i]
			require.Zero(t, at(t, s).call(t, opCreate, create(path, 0)).code)
			for _, other := range e.Servers() {
				require.Zero(t, at(t, other).call(t, opExists, packet{}.string(path).byte(0)).code)
			}
		}
	})
}

func TestALaggingFollowerShowsThePastUntilASync(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		late := at(t, e.Server(0))
		e.Server(0).Lag(500 * time.Millisecond)
		require.Zero(t, at(t, e.Server(2)).call(t, opCreate, create("/a", 0)).code)
		require.Equal(t, noNode, late.call(t, opExists, packet{}.string("/a").byte(0)).code)
		start := time.Now()
		require.Zero(t, late.call(t, opSync, packet{}.string("/")).code)
		require.Positive(t, time.Since(start))
		require.Zero(t, late.call(t, opExists, packet{}.string("/a").byte(0)).code)
	}, zktest.WithServerLatency(time.Millisecond, time.Millisecond))
}

func TestAFollowerCutOffAnswersPingsAndReadsWhileTheSessionEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		inside, outside := at(t, e.Server(0)), at(t, e.Server(2))
		inside.call(t, opCreate, create("/e", 1))
		e.Partition(e.Server(0))
		for range 12 {
			require.Zero(t, inside.call(t, opPing, nil).code)
			require.Zero(t, inside.call(t, opExists, packet{}.string("/e").byte(0)).code)
			outside.call(t, opPing, nil)
			time.Sleep(200 * time.Millisecond)
		}
		require.Equal(t, noNode, outside.call(t, opExists, packet{}.string("/e").byte(0)).code)
		require.Zero(t, inside.call(t, opExists, packet{}.string("/e").byte(0)).code)
	}, zktest.WithSyncLimit(20))
}

func TestAFollowerCutOffForTheSyncLimitHangsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(0))
		e.Partition(e.Server(0))
		w.closed(t)
		e.Heal()
		time.Sleep(time.Second)
		require.NotZero(t, at(t, e.Server(0)).session)
	})
}

func TestTouchesReachTheLeaderOnHalfTicksOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(0))
		relayed := func(within time.Duration) bool {
			before := e.Sessions()[0].Ends
			time.Sleep(200 * time.Millisecond) // so that a touch moves the end by a tick
			w.call(t, opPing, nil)
			for range within / time.Millisecond {
				if e.Sessions()[0].Ends.After(before) {
					return true
				}
				time.Sleep(time.Millisecond)
			}
			return false
		}
		for !relayed(time.Second) {
		}
		time.Sleep(time.Millisecond)
		require.False(t, relayed(90*time.Millisecond))
		require.True(t, relayed(110*time.Millisecond))
	})
}

func TestASyncWaitsAtAFollowerForWhatWasProposedBeforeIt(t *testing.T) {
	const disk = 100 * time.Millisecond
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		inside, outside := at(t, e.Server(2)), at(t, e.Server(0))
		synced := func(w *wire) time.Duration {
			start := time.Now()
			require.Zero(t, w.call(t, opSync, packet{}.string("/")).code)
			return time.Since(start)
		}
		require.Zero(t, synced(outside))
		writer := at(t, e.Server(2))
		writer.send(t, opCreate, create("/a", 0))
		synctest.Wait()
		require.Zero(t, synced(inside))
		require.False(t, exists(t, inside, "/a"))
		require.Equal(t, disk, synced(outside))
		require.True(t, exists(t, outside, "/a"))
	}, zktest.WithDiskLatency(disk, disk))
}

func TestALeaderThatIsCutOffSaysYesToASync(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(2))
		e.Partition(e.Server(2))
		require.Zero(t, w.call(t, opSync, packet{}.string("/")).code)
	})
}

func TestAnElectionTakesItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		e.Server(2).Stop()
		time.Sleep(4900 * time.Millisecond)
		require.Nil(t, e.Leader())
		time.Sleep(300 * time.Millisecond)
		require.Equal(t, e.Server(1), e.Leader())
		at(t, e.Server(0))
		require.Equal(t, int64(2)<<32+1, e.Leader().Zxid(), "each term counts from its own beginning")
	}, zktest.WithElectionTime(5*time.Second))
}

func TestANewLeaderKeepsSessionsAndStartsTheirCountdownsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(0))
		w.call(t, opCreate, create("/e", 1))
		time.Sleep(1500 * time.Millisecond)
		e.Server(2).Stop()
		w.closed(t)
		time.Sleep(time.Second)
		require.Equal(t, e.Server(1), e.Leader())
		require.Greater(t, time.Until(e.Sessions()[0].Ends), time.Second)
		again := dialWire(t, e.Server(0).Dial, "", 2*time.Second, w)
		require.Equal(t, w.session, again.session)
		require.Zero(t, again.call(t, opExists, packet{}.string("/e").byte(0)).code)
	})
}

func TestANewLeaderCountsASessionWithTheTimeoutItWasCreatedWith(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := dialWire(t, e.Server(2).Dial, "", 4*time.Second, nil)
		w.nc.Close()
		dialWire(t, e.Server(2).Dial, "", time.Second, w)
		require.Less(t, time.Until(e.Sessions()[0].Ends), 1300*time.Millisecond)
		e.Server(2).Stop()
		time.Sleep(500 * time.Millisecond)
		require.Greater(t, time.Until(e.Sessions()[0].Ends), 3*time.Second)
	})
}

func TestASessionThatReconnectsToALaggingFollowerIsTouched(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		e.Server(0).Lag(time.Minute)
		w := at(t, e.Server(1))
		again := dialWire(t, e.Server(0).Dial, "", 2*time.Second, w)
		for range 10 {
			require.Zero(t, again.call(t, opPing, nil).code)
			time.Sleep(500 * time.Millisecond)
		}
		require.Equal(t, w.session, e.Sessions()[0].ID)
	})
}

func TestARequestByTheOldServerOfAMovedSessionHangsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		for _, servers := range [][2]int{{0, 1}, {2, 1}, {1, 2}} {
			old := at(t, e.Server(servers[0]))
			moved := dialWire(t, e.Server(servers[1]).Dial, "", 2*time.Second, old)
			require.Equal(t, old.session, moved.session)
			old.send(t, opCreate, create("/late", 0))
			old.closed(t)
			require.Equal(t, noNode, moved.call(t, opExists, packet{}.string("/late").byte(0)).code)
		}
	})
}

func TestAMultiByTheOldServerOfAMovedSessionHangsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		old := at(t, e.Server(0))
		dialWire(t, e.Server(1).Dial, "", 2*time.Second, old)
		old.send(t, int32(zktest.OpMulti), packet{}.int32(13).byte(0).int32(-1).string("/").int32(-1).int32(-1).byte(1).int32(-1))
		old.closed(t)
	})
}

func TestAnUncommittedProposalThatAFollowerLoggedSurvivesTheLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(2))
		e.Block(e.Server(0), e.Server(2))
		e.Block(e.Server(1), e.Server(2))
		w.send(t, opCreate, create("/a", 0))
		time.Sleep(10 * time.Millisecond)
		require.Empty(t, e.Server(2).Nodes())
		e.Server(2).Stop()
		time.Sleep(time.Second)
		require.Zero(t, at(t, e.Server(0)).call(t, opExists, packet{}.string("/a").byte(0)).code)
	})
}

func TestAnUncommittedProposalThatNobodyElseLoggedIsForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(2))
		e.Partition(e.Server(2))
		w.send(t, opCreate, create("/a", 0))
		time.Sleep(10 * time.Millisecond)
		e.Server(2).Stop()
		time.Sleep(2 * time.Second) // until nobody waits for the old leader's packets any more
		e.Heal()
		e.Server(2).Restart()
		time.Sleep(2 * time.Second)
		for _, s := range e.Servers() {
			require.Empty(t, s.Nodes())
		}
		require.NotEqual(t, e.Server(2), e.Leader())
	})
}

func TestAThawedLeaderAnswersReadsAndSyncsUntilItNoticesItsDeposition(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(2))
		e.Partition(e.Server(2)) // so that it does not even learn that its followers have left
		e.Server(2).Freeze()
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, e.Server(1), e.Leader())
		require.Zero(t, at(t, e.Server(1)).call(t, opCreate, create("/a", 0)).code)
		e.Server(2).Thaw()
		require.Zero(t, w.call(t, opSync, packet{}.string("/")).code)
		require.Equal(t, noNode, w.call(t, opExists, packet{}.string("/a").byte(0)).code)
		w.closed(t)
	})
}

func TestAThawedLeaderThatKeptItsFollowersMayEndEverySession(t *testing.T) {
	ended := 0
	for seed := range int64(20) {
		inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
			var ends int
			e.Observe(func(txn zktest.Txn) {
				for _, c := range txn.Changes {
					if c.Kind == zktest.SessionClosed && c.Cause == zktest.CauseExpiry {
						ends++
					}
				}
			})
			at(t, e.Server(2)).call(t, opCreate, create("/e", 1))
			w := at(t, e.Server(2))
			e.Server(2).Freeze()
			w.send(t, opPing, nil)
			time.Sleep(3 * time.Second)
			e.Server(2).Thaw()
			require.GreaterOrEqual(t, ends, 1)
			ended += ends - 1
		}, zktest.WithSeed(seed), zktest.WithSyncLimit(100))
	}
	require.Positive(t, ended)
	require.Less(t, ended, 20)
}

func TestAThawedLeaderAsksForTouchesAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		w := at(t, e.Server(0))
		left := func() time.Duration {
			for _, s := range e.Sessions() {
				if s.Server == e.Server(0) {
					return time.Until(s.Ends)
				}
			}
			return 0
		}
		e.Server(2).Freeze()
		time.Sleep(800 * time.Millisecond)
		w.call(t, opPing, nil)
		before := left()
		e.Server(2).Thaw()
		time.Sleep(time.Millisecond)
		require.Greater(t, left(), before)
	}, zktest.WithSyncLimit(100))
}

func TestWithoutAMajorityNothingIsDecided(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		e.Server(0).Stop()
		e.Server(1).Stop()
		time.Sleep(2 * time.Second)
		require.Nil(t, e.Leader())
		nc, err := e.Server(2).Dial("", "", time.Second)
		require.NoError(t, err)
		w := &wire{nc: nc}
		w.write(t, packet{}.int32(0).int64(0).int32(1000).int64(0).string(string(make([]byte, 16))))
		w.closed(t)
		e.Server(0).Restart()
		time.Sleep(2 * time.Second)
		require.NotNil(t, e.Leader())
	})
}

// They were far in another epoch, and one of them was frozen.
func TestServersThatHaveLostTheirDataBeginAnew(t *testing.T) {
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				e := zktest.NewEnsemble(t, servers)
				told := 0
				e.Observe(func(zktest.Txn) { told++ })
				leader := e.Leader()
				leader.Stop()
				leader.Restart()
				time.Sleep(10 * time.Second)
				old := at(t, e.Server(0))
				require.Zero(t, old.call(t, opCreate, create("/a", 0)).code)
				seen := e.Leader().Zxid()
				e.Server(0).Freeze()
				e.LoseData()
				for _, s := range e.Servers() {
					_, err := s.Dial("", "", time.Second)
					require.Error(t, err)
					s.Restart()
				}
				time.Sleep(10 * time.Second)
				require.Empty(t, e.Sessions())
				nc, err := e.Server(0).Dial("", "", time.Second)
				require.NoError(t, err)
				w := &wire{nc: nc}
				w.write(t, packet{}.int32(0).int64(seen).int32(2000).int64(old.session).string(string(old.password)))
				w.closed(t)
				require.Zero(t, dialWire(t, e.Server(0).Dial, "", 2*time.Second, old).session)
				told = 0
				for _, s := range e.Servers() {
					require.Equal(t, noNode, at(t, s).call(t, opExists, packet{}.string("/a").byte(0)).code)
					require.Less(t, s.Zxid(), seen)
				}
				require.Equal(t, servers, told, "a session each")
			})
		})
	}
}

func TestTheRealClientRidesOutTheLossOfALeader(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		c := connect(t, e.Dial, e.PipeAddrs()...)
		_, err := c.Create("/e", nil, zk.FlagEphemeral, open)
		require.NoError(t, err)
		id := c.SessionID()
		for range 5 {
			leader := e.Leader()
			leader.Stop()
			time.Sleep(3 * time.Second)
			leader.Restart()
			time.Sleep(3 * time.Second)
			_, stat, err := c.Get("/e")
			require.NoError(t, err)
			require.Equal(t, id, stat.EphemeralOwner)
		}
	})
}
