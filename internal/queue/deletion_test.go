package queue

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// inLine has so many contenders of the session line up for the lock at path. Each sends its
// hold when it has one; the first does so at once.
func inLine(t *testing.T, s *Session, path string, n int) <-chan *Hold {
	t.Helper()
	l := lockAt(s, path)
	granted := make(chan *Hold, n)
	for range n {
		go func() {
			if h, err := l.Acquire(t.Context(), nil); err == nil {
				granted <- h
			}
		}()
		synctest.Wait()
	}
	require.Len(t, granted, 1)
	return granted
}

// goOn has the last owner leave, and returns the next one's hold.
func goOn(last *Hold, granted <-chan *Hold) *Hold {
	go last.Release(context.Background(), nil)
	return <-granted
}

// longLines makes locks with two contenders each. The paths of a few are as much as a server
// takes in one request. It returns the holds of the first, and where the others' come.
func longLines(t *testing.T, s *Session, n int) (granted []<-chan *Hold, first []*Hold) {
	t.Helper()
	for i := range n {
		granted = append(granted, inLine(t, s, fmt.Sprintf("/%s%d", strings.Repeat("x", 40_000), i), 2))
		first = append(first, <-granted[i])
	}
	return granted, first
}

// Each of them has a delete of its own.
func TestALongNodeThatHasGoneKeepsNoOtherPermitFromBeingDeleted(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		operator := connect(t, server)
		defer operator.end()
		h, err := NewSemaphore(s, "/"+strings.Repeat("x", 150_000), 2, defaults()).Acquire(t.Context(), 2, nil)
		require.NoError(t, err)
		unanswered := server.DropRequest(zktest.OpConnect)
		server.CutSession(s.client.ID())
		<-unanswered.Struck()
		require.NoError(t, operator.client.Conn.Delete(h.Node(), -1))
		released := make(chan error, 1)
		go func() { released <- h.Release(t.Context(), nil) }()
		synctest.Wait()
		unanswered.Release()
		require.NoError(t, <-released)
		require.Empty(t, server.Children(path.Dir(h.Node())))
	})
}

func TestDeletesOfLongPathsAreRequestsThatAServerTakes(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		granted, holds := longLines(t, s, 20)
		l := s.client.Current()
		alone := server.HoldReply(zktest.OpMulti, zktest.OnPath(holds[0].Node()))
		for i, h := range holds {
			holds[i] = goOn(h, granted[i])
			synctest.Wait()
		}
		alone.Release()
		synctest.Wait()
		require.True(t, l == s.client.Current(), "the server has not hung up")
		for _, h := range holds {
			require.NoError(t, h.Err())
			require.Len(t, server.Children(path.Dir(h.Node())), 1)
			require.NoError(t, h.Release(t.Context(), nil))
		}
	})
}

// Those that have waited for others go ahead, in as many requests as it takes.
func TestUnlockReturnsWhenItsOwnDeleteHasBeenSent(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		last := take(t, lockAt(s, "/last"))
		node := last.Node()
		granted, holds := longLines(t, s, 10)
		alone := server.HoldReply(zktest.OpMulti, zktest.OnPath(holds[0].Node()))
		for i, h := range holds {
			goOn(h, granted[i])
			synctest.Wait()
		}
		time.AfterFunc(time.Second, alone.Release)
		last.SendRelease(t.Context(), nil)
		there, _, err := s.client.Conn.Exists(node)
		require.NoError(t, err)
		require.False(t, there)
	})
}

// The lock goes from one to the next, whose nodes are both gone, while the answer is on its way
// that the one's is.
func TestWhomALockWentOnToIsCheckedBeforeTheNodeGoesThatKeepsOthersFromIt(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		granted := inLine(t, s, "/lock", 3)
		other := connect(t, server)
		for _, name := range server.Children("/lock") {
			if c, _ := recipe.Parse(name); c.Sequence > 0 {
				require.NoError(t, other.client.Conn.Delete("/lock/"+name, -1))
			}
		}
		l := lockAt(other, "/lock")
		elsewhere := make(chan *Hold, 1)
		go func() {
			h, _ := l.Acquire(t.Context(), nil)
			elsewhere <- h
		}()
		synctest.Wait()

		refused := server.HoldReply(zktest.OpMulti)
		second := goOn(<-granted, granted)
		<-refused.Struck()
		third := goOn(second, granted)
		later := server.HoldRequest(zktest.OpMulti, zktest.OnPath(second.Node()))
		defer later.Release()
		refused.Release()
		require.NotNil(t, <-elsewhere)
		require.ErrorIs(t, third.Err(), ErrLost)
	})
}

// A proof of the session goes behind them.
func TestOfManyNodesThatCannotBeDeletedAFewAreTriedAtATime(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
		hold(t, connect(t, server))
		s := connect(t, server)
		for range client.MostAsking + 100 {
			go lockAt(s, "/lock").Acquire(t.Context(), nil)
		}
		time.Sleep(time.Second)
		require.Len(t, server.Children("/lock"), client.MostAsking+101)
		allow(t, s.client.Conn, "/lock", zk.PermAll&^zk.PermDelete)
		before := server.Requests()[zktest.OpDelete]
		tried := func() int { return server.Requests()[zktest.OpDelete] - before }
		s.mu.Lock()
		for _, c := range s.live {
			c.leaveUnusedLocked()
		}
		s.mu.Unlock()
		for tried() == 0 {
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, tried(), client.MostAsking)
		time.Sleep(time.Second)
		require.GreaterOrEqual(t, tried(), client.MostAsking+100)
	})
}

// A server that is too busy says so of all of them, and of none what has become of it.
func TestDeletesThatAServerTurnsAwayTogetherAreSentAgain(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		hold(t, connect(t, server))
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go lockAt(s, "/lock").Acquire(ctx, nil)
		}
		time.Sleep(time.Second)
		require.Len(t, server.Children("/lock"), 4)
		busy := server.RefuseRequest(zktest.OpMulti, throttled, zktest.OnSession(s.client.ID()))
		cancel()
		<-busy.Struck()
		time.Sleep(time.Second)
		require.Len(t, server.Children("/lock"), 1)
	})
}

func TestADeleteThatFindsItsNodeGoneIsNotSentAgain(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		late := server.HoldRequest(zktest.OpDelete, zktest.OnSession(s.client.ID()))
		came := make(chan error, 1)
		go func() { came <- h.Release(t.Context(), nil) }()
		<-late.Struck()
		require.NoError(t, connect(t, server).client.Conn.Delete(h.Node(), -1))
		before := server.Requests()[zktest.OpDelete]
		late.Release()
		require.NoError(t, <-came)
		synctest.Wait()
		require.LessOrEqual(t, server.Requests()[zktest.OpDelete], before+1)
	})
}

// A server may tell of fewer operations than it was asked for.
func TestAnAnswerThatCannotBeReadDoesNotSayThatNodesAreGone(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		seen := wire.NewTransaction(client.Check(hold(t, s).Node())).Then(func(*wire.Request) {}) // which is not kept for others
		s.client.Send(seen)
		require.ErrorIs(t, s.deleteAtOnce(nil, nil, &attempt{request: seen}), wire.ErrMalformed)
	})
}

func TestUnlockDoesNotWaitForTheAnswerToItsDelete(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		unanswered := server.HoldReply(zktest.OpDelete, zktest.OnPath(h.Node()))
		defer unanswered.Release()
		before := time.Now()
		h.SendRelease(t.Context(), nil)
		require.Equal(t, before, time.Now())
		<-unanswered.Struck()
	})
}

// busy has a delete of s under way until the function that it returns is called. Those of locks
// that go on to another contender of s wait meanwhile.
func busy(t *testing.T, s *Session, server *zktest.Server) (done func()) {
	t.Helper()
	granted := inLine(t, s, "/busy", 2)
	first := <-granted
	unanswered := server.HoldReply(zktest.OpMulti, zktest.OnPath(first.Node()))
	goOn(first, granted)
	<-unanswered.Struck()
	return unanswered.Release
}

func TestThoseThatHandTheLockOnWhileADeleteIsUnderWayAreDeletedByOneRequest(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		granted := inLine(t, s, "/lock", 10)
		h := <-granted
		done := busy(t, s, server)
		before := server.Requests()
		for range 9 {
			h = goOn(h, granted)
		}
		synctest.Wait()
		done()
		synctest.Wait()
		after := server.Requests()
		require.Equal(t, 1, after[zktest.OpMulti]-before[zktest.OpMulti])
		require.Equal(t, before[zktest.OpDelete], after[zktest.OpDelete])
		require.Equal(t, []string{path.Base(h.Node())}, server.Children("/lock"))
	})
}

// A request each, and the goroutine that sends it, would keep the last of thousands from returning.
func TestTheNodesOfCallsThatEndTogetherAreDeletedByOneRequest(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := <-inLine(t, s, "/lock", 10)
		done := busy(t, s, server) // which keeps nobody waiting
		before := server.Requests()
		s.mu.Lock()
		for _, c := range s.live {
			if c.queue.dir == "/lock" && c.hold == nil {
				c.leaveUnusedLocked()
			}
		}
		s.mu.Unlock()
		synctest.Wait()
		after := server.Requests()
		require.Equal(t, 1, after[zktest.OpMulti]-before[zktest.OpMulti])
		require.Equal(t, before[zktest.OpDelete], after[zktest.OpDelete])
		require.Equal(t, []string{path.Base(h.Node())}, server.Children("/lock"))
		done()
	})
}

func TestACallThatEndsLeavesNoGoroutineBehindThatWaitsForItsNodeToBeDeleted(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const calls = 70
		s, server := connected(t)
		hold(t, s)
		synctest.Wait()
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		var came []<-chan outcome
		for range calls {
			came = append(came, ask(ctx, lockAt(s, "/lock").Acquire))
		}
		hung := server.HoldRequest(zktest.OpMulti)
		defer hung.Release()
		cancel()
		for _, ended := range came {
			require.ErrorIs(t, (<-ended).err, context.Canceled)
		}
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+calls/2, "a few carry all of them out")
		require.Error(t, s.client.MakeRoom(overCtx(t)), "they are counted all the same")
	})
}

func TestANodeThatCannotBeDeletedKeepsNoOtherOfItsRequestFromThat(t *testing.T) {
	for refused := range 2 {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t)
			owner := server.Client("owner")
			s := connectBy(t, server, new(clock.Clock), sessionTimeout, client.Options{Dialer: owner.Dial})
			var granted [2]<-chan *Hold
			var first, next [2]*Hold
			for i := range granted {
				granted[i] = inLine(t, s, fmt.Sprintf("/lock%d", i), 2)
				first[i] = <-granted[i]
			}
			allow(t, s.client.Conn, path.Dir(first[refused].Node()), zk.PermAll&^zk.PermDelete)
			done := busy(t, s, server)
			for i, h := range first {
				next[i] = goOn(h, granted[i])
			}
			synctest.Wait()
			owner.Delay(zktest.ToClient, time.Millisecond, time.Millisecond) // so that time passes if it is tried for ever
			done()
			time.Sleep(time.Second)
			for i, h := range next {
				left := []string{path.Base(h.Node())}
				if i == refused {
					left = append(left, path.Base(first[i].Node()))
				}
				require.ElementsMatch(t, left, server.Children(path.Dir(h.Node())))
				require.NoError(t, h.Err())
			}
			require.ErrorIs(t, first[refused].Release(t.Context(), nil), zk.ErrNoAuth)
			require.NoError(t, first[1-refused].Release(t.Context(), nil))
		})
	}
}

// Of hundreds of calls that have ended, an operator lets nobody delete the nodes. A lock that is given
// back takes them along if they have not gone yet.
func TestNodesThatCannotBeDeletedDelayNoneOfAnotherLock(t *testing.T) {
	for name, along := range map[string]bool{"before": false, "along": true} {
		virtual.Run(t, name, func(t *testing.T) {
			const oneWay = 10 * time.Millisecond
			server := zktest.NewServer(t, zktest.WithLatency(oneWay, oneWay))
			s, operator := connect(t, server), connect(t, server)
			h := take(t, lockAt(s, "/free"))
			denied := take(t, lockAt(operator, "/denied"))
			for range 2 * client.MostAsking {
				go lockAt(s, "/denied").Acquire(t.Context(), nil)
			}
			time.Sleep(time.Second)
			allow(t, operator.client.Conn, "/denied", zk.PermAll&^zk.PermDelete)
			s.mu.Lock()
			for _, c := range s.live {
				if c.queue.dir == "/denied" {
					c.leaveUnusedLocked()
				}
			}
			if !along {
				s.mu.Unlock()
				synctest.Wait()
				s.mu.Lock()
			}
			began, free := time.Now(), h.contender.leaveLocked()
			s.mu.Unlock()
			<-free.done.Done()
			require.NoError(t, free.err)
			require.LessOrEqual(t, time.Since(began), 8*oneWay)
			require.NoError(t, denied.Err())
		})
	}
}

// To hear of each of them by a request of its own takes a round trip, and a transaction that names
// all the rest.
func TestDeletesOfManyNodesWhoseAnswerIsLostAreMadeSureOfByOneMoreTransaction(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := permits(t, s, 500, 500)
		lost := server.DropReply(zktest.OpMulti, zktest.OnPath("/sem/leases/"))
		before := server.Requests()[zktest.OpMulti]
		require.NoError(t, h.Release(t.Context(), nil))
		<-lost.Struck()
		require.Equal(t, 2, server.Requests()[zktest.OpMulti]-before)
		require.Empty(t, server.Children("/sem/leases"))
	})
}

// Others of the same request are there.
func TestNodesThatAreGoneKeepNoOtherOfTheirRequestFromBeingDeleted(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		server.DropReply(zktest.OpExists, zktest.OnPath("/sem/leases/")) // it is not known which
		operator := connect(t, server).client.Conn
		h := permits(t, s, 9, 9)
		late := server.HoldRequest(zktest.OpMulti, zktest.OnPath("/sem/leases/"))
		released := make(chan error, 1)
		go func() { released <- h.Release(t.Context(), nil) }()
		<-late.Struck()
		for i, name := range server.Children("/sem/leases") {
			if i%2 == 1 {
				require.NoError(t, operator.Delete("/sem/leases/"+name, -1))
			}
		}
		late.Release()
		require.NoError(t, <-released)
		require.Empty(t, server.Children("/sem/leases"))
	})
}

func TestTheLogTellsOfNodesThatCannotBeDeletedAndOfNoOthers(t *testing.T) {
	const said = "lock nodes cannot be deleted"
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		synctest.Wait()
		require.NotContains(t, log.String(), said)

		granted := inLine(t, s, "/lock", 2)
		allow(t, s.client.Conn, "/lock", zk.PermAll&^zk.PermDelete)
		first := <-granted
		second := goOn(first, granted)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), said))
		require.Contains(t, log.String(), first.Node())

		err := second.Release(t.Context(), nil)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of /lock does not let this session delete "+second.Node())
		synctest.Wait()
		require.Equal(t, 2, strings.Count(log.String(), said))
	})
}

// An operator may give back what he has taken, and a server may have erred.
func TestANodeWhoseDeleteWasRefusedIsDeletedAsSoonAsTheServerLetsIt(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		operator := connect(t, server).client.Conn
		h := hold(t, s)
		allow(t, operator, "/lock", zk.PermAll&^zk.PermDelete)
		require.ErrorIs(t, h.Release(t.Context(), nil), zk.ErrNoAuth)
		before := server.Requests()[zktest.OpDelete]
		for range 60 {
			time.Sleep(time.Minute)
			_, err := s.client.JoinList("/lock").Wait(t.Context())
			require.NoError(t, err)
		}
		require.InDelta(t, 60, server.Requests()[zktest.OpDelete]-before, 10)
		require.Equal(t, 1, strings.Count(log.String(), "lock nodes cannot be deleted"))
		allow(t, operator, "/lock", zk.PermAll)
		time.Sleep(time.Minute)
		require.Empty(t, server.Children("/lock"))
		require.Zero(t, running("deleteYet"))
		require.Equal(t, 1, strings.Count(log.String(), "lock nodes are gone that could not be deleted"))
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Empty(t, s.live)
	})
}

// Nobody knows what becomes of it when its session is closed without a connection.
func TestANodeThatMayBeThereStillIsNotLoggedAsGone(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		h := hold(t, s)
		allow(t, s.client.Conn, "/lock", zk.PermAll&^zk.PermDelete)
		require.ErrorIs(t, h.Release(t.Context(), nil), zk.ErrNoAuth)
		server.Refuse(true)
		server.Cut()
		time.Sleep(2 * time.Second) // it is being tried again
		s.end()
		require.Zero(t, running("deleteYet"))
		require.NotContains(t, log.String(), "are gone")
	})
}

// A list may be older than the end of what it shows.
func TestNobodyWantsWhatCallsHaveLeft(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		names := server.Children("/lock")
		require.Equal(t, names, s.wanted(names))
		late := server.HoldRequest(zktest.OpDelete, zktest.OnPath(h.Node()))
		h.SendRelease(t.Context(), nil)
		require.Empty(t, s.wanted(names), "its node is being deleted")
		late.Release()
		synctest.Wait()
		require.Empty(t, s.wanted(names), "its node is gone")
		require.NotEmpty(t, s.wanted([]string{"x-lock-0000000000"}), "somebody else's")
	})
}

func TestAllNodesOfEndedCallsThatAListShowsAreDeleted(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		synctest.Wait() // it has listed the queue
		for range 3 {
			stem := recipe.Stem(s.ids.id(), recipe.Exclusive)
			for range 2 {
				create(t, s.client.Conn, "/lock/"+stem, zk.FlagEphemeralSequential)
			}
		}
		_, err := s.client.JoinList("/lock").Wait(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{path.Base(h.Node())}, server.Children("/lock"))
		require.NoError(t, h.Err())
	})
}
