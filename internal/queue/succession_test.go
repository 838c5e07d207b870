package queue

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// A contender that was counted for ever would cost each later one a request, and the session
// memory for each path.
func TestNothingIsCountedOfContendersThatAreGone(t *testing.T) {
	const timeout = 20 * time.Second
	onNodes := zktest.OnPath("/lock/")
	for name, disturb := range map[string]func(server *zktest.Server, s *Session){
		"in peace":                         func(*zktest.Server, *Session) {},
		"the connection is lost":           func(server *zktest.Server, _ *Session) { server.Cut() },
		"the session expires":              func(server *zktest.Server, s *Session) { server.ExpireSession(s.client.ID()) },
		"a create's reply is lost":         func(server *zktest.Server, _ *Session) { server.DropReply(zktest.OpCreate, onNodes) },
		"a create is lost":                 func(server *zktest.Server, _ *Session) { server.DropRequest(zktest.OpCreate, onNodes) },
		"the server hangs for some time":   func(server *zktest.Server, _ *Session) { server.Freeze(); time.AfterFunc(timeout/2, server.Thaw) },
		"the server hangs for a long time": func(server *zktest.Server, _ *Session) { server.Freeze(); time.AfterFunc(2*timeout, server.Thaw) },
		"the session is closed":            func(_ *zktest.Server, s *Session) { s.end() },
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			nobody := []zk.ACL{{Perms: zk.PermAll, Scheme: "unheard-of", ID: "nobody"}}
			ctx := within(t, timeout)
			enter := func() {
				refused := defaults()
				refused.ACL = nobody
				plain := lockAt(s, "/lock")
				for _, l := range []Source{plain, plain, New(s, "/lock", recipe.Exclusive, refused), NewHandoff(lockAt(s, "/lock"), 2, 0)} {
					for range 2 {
						go func() {
							if h, err := l.Acquire(ctx, nil); err == nil {
								_ = s.client.Sleep(ctx, time.Second)
								h.SendRelease(ctx, nil)
							}
						}()
					}
				}
			}
			enter()
			synctest.Wait()
			disturb(server, s)
			enter()
			time.Sleep(10 * timeout)
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Empty(t, s.index.lines)
			require.Empty(t, s.index.at)
			require.Empty(t, s.live)
			require.Empty(t, s.protected.all())
		})
	}
}

// standIn returns a contender of s that stands in the queue of /lock by itself. The queue has been
// there since before all of them.
func standIn(s *Session, sequence int32) *contender {
	return &contender{
		queue: lockAt(s, "/lock"), incarnation: s.incarnation, state: waiting, queues: true,
		node: fmt.Sprintf("/lock/x-lock-%010d", sequence), sequence: sequence,
		since: 1, token: int64(10 + sequence),
	}
}

// mayBeFollowed takes that c's node is known.
func mayBeFollowed(c *contender) {
	c.queue.session.mu.Lock()
	defer c.queue.session.mu.Unlock()
	c.addToIndex()
}

// A queue that was made anew counts from zero.
func TestAContenderFollowsTheOneOfItsSessionThatIsKnownToBeRightAhead(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		for name, tc := range map[string]struct {
			sequence int32 // of the one ahead
			token    int64 // likewise
			since    int64
			follows  bool
		}{
			"the next number of the same queue":         {7, 17, 1, true},
			"the one ahead was the first there":         {7, 17, 16, true},
			"there may be somebody in between":          {6, 16, 1, false},
			"it may be another queue":                   {7, 17, 0, false},
			"the queue was made with the one ahead":     {7, 17, 17, true},
			"the queue is younger than who seems ahead": {7, 17, 18, false},
			"who seems ahead is of a younger queue":     {7, 18, 1, false},
		} {
			s.mu.Lock()
			ahead, c := standIn(s, tc.sequence), standIn(s, 8)
			ahead.token, c.since = tc.token, tc.since
			ahead.addToIndex()
			s.mu.Unlock()
			turn := c.followNext()
			s.mu.Lock()
			follows := ahead.successor == c
			ahead.removeFromIndex()
			s.mu.Unlock()
			require.Equal(t, tc.follows, turn != nil, name)
			require.Equal(t, tc.follows, follows, name)
		}
	})
}

// The creates' answers come in order, and those who wait for them go on in any.
func TestWhoStandsRightBehindItsOwnSessionNeedsNoListInWhateverOrderCallsGoOn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const callers = 100
		s, server := connected(t)
		q := lockAt(s, "/lock")
		h := take(t, q)
		lists := server.Requests()[zktest.OpGetChildren2]
		var got []int32
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				h, err := q.Acquire(t.Context(), nil)
				if err == nil {
					got = append(got, h.contender.sequence)
					h.SendRelease(t.Context(), nil)
				}
			})
		}
		synctest.Wait()
		h.SendRelease(t.Context(), nil)
		all.Wait()
		require.Len(t, got, callers)
		require.IsIncreasing(t, got)
		require.Equal(t, lists, server.Requests()[zktest.OpGetChildren2])
	})
}

// Its predecessor may release before it goes on.
func TestALockIsHandedToWhoHasNotGoneOnSinceItsCreateWasAnswered(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		q, h := lockAt(s, "/lock"), hold(t, s)
		inc, err := s.await(t.Context())
		require.NoError(t, err)
		c, view, err := q.create(t.Context(), inc, q.lockNode())
		require.NoError(t, err)
		require.Nil(t, view)
		h.SendRelease(t.Context(), nil)
		require.Equal(t, holding, c.state)
		got, err := c.wait(t.Context(), nil)
		require.NoError(t, err)
		require.Same(t, c, got.contender)
		require.NoError(t, got.Release(t.Context(), nil))
	})
}

func TestWhoFollowsAnotherMayAskForThatAgain(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		ahead, c := standIn(s, 6), standIn(s, 7)
		mayBeFollowed(ahead)
		turn := c.followNext()
		require.False(t, latch.IsClosed(turn))
		require.Equal(t, turn, c.followNext())
		require.False(t, latch.IsClosed(turn))
	})
}

// What the node says may be older than the create, by a server that answers out of order.
func TestAContenderBelievesWhatTheQueuesNodeSaysOfItsOwnCreate(t *testing.T) {
	for name, tc := range map[string]struct {
		list  *client.List
		since int64
	}{
		"it has changed by it":        {&client.List{Stat: &zk.Stat{Czxid: 3, Pzxid: 12}}, 3},
		"it has changed since":        {&client.List{Stat: &zk.Stat{Czxid: 3, Pzxid: 13}}, 3},
		"it is as it was before that": {&client.List{Stat: &zk.Stat{Czxid: 3, Pzxid: 11}}, 0},
		"it is not there":             {&client.List{Missing: true}, 0},
	} {
		c := &contender{token: 12}
		c.sees(tc.list)
		require.Equal(t, tc.since, c.since, name)
	}
}

// It would take the place of another successor, whom nobody wakes then.
func TestAContenderThatHasEndedFollowsNobody(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		ahead, next, late := standIn(s, 6), standIn(s, 7), standIn(s, 7)
		late.state = ended
		mayBeFollowed(ahead)
		require.NotNil(t, next.followNext())
		require.Nil(t, late.followNext())
		require.Nil(t, late.follow(ahead.listed()))
		require.Same(t, next, ahead.successor)
	})
}

// Its node is gone, or another could not come right behind the same one; and it may have been told
// nothing of that.
func TestAContenderInWhosePlaceAnotherFollowsLooksAtTheQueue(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		ahead, first, second := standIn(s, 6), standIn(s, 7), standIn(s, 8)
		mayBeFollowed(ahead)
		turn := first.followNext()
		require.NotNil(t, turn)
		next := second.follow(ahead.listed())
		require.NotNil(t, next)
		require.True(t, latch.IsClosed(turn))
		require.False(t, latch.IsClosed(next))
		require.Same(t, second, ahead.successor)
	})
}

// The path may have been made anew, with its numbers.
func TestAContenderFollowsTheOneThatAListHasShownByItsName(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		ahead, c := standIn(s, 3), standIn(s, 8)
		mayBeFollowed(ahead)
		nearest := ahead.listed()
		require.NotNil(t, c.follow(nearest))
		for _, stranger := range []recipe.Node{
			{Name: "y-lock-0000000003", Kind: recipe.Exclusive, Sequence: 3},
			{Name: "x-lock-0000000004", Kind: recipe.Exclusive, Sequence: 4},
		} {
			require.Nil(t, standIn(s, 8).follow(stranger))
		}
	})
}

// Nobody would ever wake who followed any other.
func TestOnlyThoseThatHandALockOnMayBeFollowed(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		for name, tc := range map[string]struct {
			is  func(*contender)
			may bool
		}{
			"it waits":               {func(*contender) {}, true},
			"it is to leave":         {func(c *contender) { c.state = abandoned }, true},
			"it holds":               {func(c *contender) { c.state = holding }, true},
			"it has ended":           {func(c *contender) { c.state = ended }, false},
			"it is being deleted":    {func(c *contender) { c.state = leaving }, false},
			"it reads":               {func(c *contender) { c.queue.kind = recipe.Read }, false},
			"it has no place itself": {func(c *contender) { c.queues = false }, false},
		} {
			c := standIn(s, 3)
			tc.is(c)
			s.mu.Lock()
			c.addToIndex()
			may := len(s.index.at) == 1
			clear(s.index.at)
			s.mu.Unlock()
			require.Equal(t, tc.may, may, name)
		}
	})
}

// The machine may have slept since the last look at the lease.
func TestALockIsNotHandedOnUnderALeaseThatIsOver(t *testing.T) {
	for name, giveBack := range map[string]func(context.Context, *Hold){
		"who has it looks at the lease": func(ctx context.Context, h *Hold) { h.Release(ctx, nil) },
		"who has it does not":           func(ctx context.Context, h *Hold) { h.SendRelease(ctx, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, c *clock.Clock) {
				q, made := countingHolds(s)
				first := lock(t, q)
				came := ask(t.Context(), q.Acquire)
				c.Step(reconnectTimeout)
				go giveBack(t.Context(), first)
				next := <-came
				require.NoError(t, next.err)
				require.True(t, next.hold.Valid())
				require.Equal(t, 2, *made, "nobody is told of a loss of what nobody had")
				require.NoError(t, next.hold.Release(t.Context(), nil))
			})
		})
	}
}

func TestALockThatIsHandedOnIsProvedUntilItIsGivenBack(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		first := hold(t, s)
		second := ask(t.Context(), lockAt(s, "/lock").Acquire)
		require.NoError(t, first.Release(t.Context(), nil))
		h := granted(t, second)
		time.Sleep(10 * sessionTimeout)
		require.True(t, h.Valid())
		require.NoError(t, h.Release(t.Context(), nil))
		synctest.Wait()
		proofs := server.Requests()[zktest.OpMulti]
		time.Sleep(10 * sessionTimeout)
		require.Equal(t, proofs, server.Requests()[zktest.OpMulti])
		require.Empty(t, server.Children("/lock"))
	})
}

func TestALockIsNotHandedToACallThatHasGivenUp(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		first := hold(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		second := ask(ctx, lockAt(s, "/lock").Acquire)
		cancel()
		require.ErrorIs(t, (<-second).err, context.Canceled)
		synctest.Wait()
		proofs := server.Requests()[zktest.OpMulti]
		require.NoError(t, first.Release(t.Context(), nil))
		time.Sleep(10 * sessionTimeout)
		require.Equal(t, proofs, server.Requests()[zktest.OpMulti], "nothing is held")
		require.Empty(t, server.Children("/lock"))
	})
}

// A session of which everybody has only waited for long has no lease that could be over.
func TestWhoGivesUpCostsNobodyElseOfItsSessionAPlace(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		others := connect(t, server)
		for _, path := range []string{"/lock", "/elsewhere"} {
			for range 2 { // so that nobody of s is next
				ask(t.Context(), lockAt(others, path).Acquire)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(ctx, lockAt(s, "/lock").Acquire)
		ask(t.Context(), lockAt(s, "/lock").Acquire)
		ask(t.Context(), lockAt(s, "/elsewhere").Acquire)
		time.Sleep(2 * sessionTimeout)
		places := server.Requests()[zktest.OpCreate]
		cancel()
		require.ErrorIs(t, (<-first).err, context.Canceled)
		synctest.Wait()
		require.Equal(t, places, server.Requests()[zktest.OpCreate], "nobody starts over")
	})
}

// overdue is a context whose Err says that it has ended before its Done does.
type overdue struct {
	context.Context
	over *atomic.Bool
}

func (c overdue) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return c.Context.Err()
}

func TestALockThatIsHandedToACallWhoseContextHasEndedIsFreeWithoutAList(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		ctx := overdue{t.Context(), new(atomic.Bool)}
		came := ask(ctx, lockAt(s, "/lock").Acquire)
		lists := server.Requests()[zktest.OpGetChildren2]
		ctx.over.Store(true)
		require.NoError(t, h.Release(t.Context(), nil))
		require.ErrorIs(t, (<-came).err, context.Canceled)
		synctest.Wait()
		require.Equal(t, lists, server.Requests()[zktest.OpGetChildren2])
		require.Empty(t, server.Children("/lock"))
	})
}

// Whoever has an old hold may keep it for as long as the process runs.
func TestAnOldHoldKeepsNoLaterOnesInMemory(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		q := lockAt(s, "/lock")
		first := take(t, q)
		var later []weak.Pointer[Hold]
		last := first
		for range 100 {
			next := make(chan *Hold)
			go func() { next <- take(t, q) }()
			synctest.Wait()
			require.NoError(t, last.Release(t.Context(), nil)) // which hands the lock over
			last = <-next
			later = append(later, weak.Make(last))
		}
		time.Sleep(time.Second) // after which their nodes would be watched
		kept := func() (n int) {
			for range 2 {
				runtime.GC()
			}
			for _, h := range later {
				if h.Value() != nil {
					n++
				}
			}
			return n
		}
		require.Less(t, kept(), 5, "of %d, while one is held", len(later))
		require.NoError(t, last.Release(t.Context(), nil))
		last = nil
		require.Less(t, kept(), 5, "of %d, when none is held", len(later))
		runtime.KeepAlive(first)
	})
}

// It would be told so when it has been handed the lock.
func TestWhoWaitsForItsTurnAndLosesItsPlaceTakesAnotherAtOnce(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		time.Sleep(2 * selfWatchDelay) // with a new connection all are watched
		inLine(t, s, "/lock", 2)
		time.Sleep(2 * selfWatchDelay)
		last := inOrder(server)[1]
		require.NoError(t, connect(t, server).client.Conn.Delete(last, -1))
		synctest.Wait()
		require.Len(t, inOrder(server), 2)
		require.NotEqual(t, last, inOrder(server)[1])
	})
}

// It may not be proved: what its session held before goes on to nobody.
func TestANodeIsDeletedThoughWhomItsLockWentOnToMayNotBeChecked(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		first := hold(t, s)
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		allow(t, connect(t, server).client.Conn, inOrder(server)[1], zk.PermAll&^zk.PermRead)
		require.NoError(t, first.Release(t.Context(), nil))
		o := <-came
		if o.err == nil { // it is lost since the call has returned
			o.err = o.hold.Err()
		}
		require.ErrorIs(t, o.err, zk.ErrNoAuth)
	})
}
