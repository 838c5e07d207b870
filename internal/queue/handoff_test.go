package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// share returns what stands in the queue of /lock for owners in s.
func share(s *Session, limit int, retention time.Duration) *handoff {
	return NewHandoff(lockAt(s, "/lock"), limit, retention).(*handoff)
}

// outcome is what a call for a lock has come to.
type outcome struct {
	hold *Hold
	err  error
}

// ask has a call for a lock made, which gets as far as it can at once.
func ask(ctx context.Context, acquire func(context.Context, Call) (*Hold, error)) <-chan outcome {
	came := make(chan outcome, 1)
	go func() {
		h, err := acquire(ctx, nil)
		came <- outcome{h, err}
	}()
	synctest.Wait()
	return came
}

// granted returns the hold that a call has got without any time passing.
func granted(t *testing.T, came <-chan outcome) *Hold {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-came:
		require.NoError(t, o.err)
		require.True(t, o.hold.Valid())
		return o.hold
	default:
		require.FailNow(t, "the call waits")
		return nil
	}
}

// lock takes the lock.
func lock(t *testing.T, l Source) *Hold {
	t.Helper()
	return granted(t, ask(t.Context(), l.Acquire))
}

// timed is a ctx whose time is up when up is closed.
type timed struct {
	context.Context
	up chan struct{}
}

func (c timed) Done() <-chan struct{} { return c.up }

func (c timed) Err() error {
	if latch.IsClosed(c.up) {
		return context.DeadlineExceeded
	}
	return nil
}

// The one whose turn it is may have both before it goes on.
func TestAMemberWhoseTimeIsUpAsItsTurnComesIsToldSoAndTheNextHasTheTurn(t *testing.T) {
	handOn := func(h *Hold) { _, _ = h.release(nil, false) }
	lose := func(h *Hold) { h.contender.losesItsNode() }
	for name, c := range map[string]struct {
		turn  func(*Hold)
		taken bool // as far as is known
	}{
		"it is handed the lock":             {handOn, true},
		"it is to fetch the lock":           {lose, false},
		"what it was handed is lost by now": {func(h *Hold) { handOn(h); lose(h) }, true},
	} {
		for order, up := range map[string]bool{"time, turn": true, "turn, time": false} {
			virtual.Run(t, name+": "+order, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // who is woken runs when this one waits
				s, server := connected(t)
				l := share(s, 10, 0)
				h := lock(t, l)
				ctx := timed{t.Context(), make(chan struct{})}
				first, second, third := ask(ctx, l.Acquire), ask(t.Context(), l.Acquire), ask(t.Context(), l.Acquire)
				if up {
					close(ctx.up)
					c.turn(h)
				} else {
					c.turn(h)
					close(ctx.up)
				}
				o := <-first
				require.ErrorIs(t, o.err, context.DeadlineExceeded)
				require.Equal(t, c.taken, errors.Is(o.err, ErrLocked))
				h = granted(t, second)
				require.Empty(t, third)
				require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/lock"), "the third waits for the second's node")
				require.NoError(t, h.Release(t.Context(), nil))
				require.NoError(t, granted(t, third).Release(t.Context(), nil))
				require.Empty(t, server.Children("/lock"))
			})
		}
	}
}

func TestAMemberHasTheNextTurnIfTheOneThatFetchesTheLockComesToNothing(t *testing.T) {
	loses := func(s *Session, _ context.CancelFunc) Call {
		return &calls{then: s.losesAllNodes}
	}
	for name, c := range map[string]struct {
		call  func(s *Session, giveUp context.CancelFunc) Call
		fails bool // it has no hold, or a lost one
	}{
		"it is lost before it is returned": {call: loses},
		"its ctx ends": {call: func(_ *Session, giveUp context.CancelFunc) Call {
			return enqueuing(giveUp)
		}, fails: true},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			l := share(s, 10, 0)
			l.queue.options.NewHistory = func(string, int64) History { return untold{} }
			server.Freeze()
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			first := make(chan outcome, 1)
			go func() {
				h, err := l.Acquire(ctx, c.call(s, giveUp))
				first <- outcome{h, err}
			}()
			synctest.Wait()
			second, third := ask(t.Context(), l.Acquire), ask(t.Context(), l.Acquire)
			server.Thaw()
			o := <-first
			require.Equal(t, c.fails, o.err != nil, "%v", o.err)
			if !c.fails {
				require.ErrorIs(t, o.hold.Err(), ErrLost)
			}
			h := granted(t, second)
			require.Empty(t, third)
			require.NoError(t, h.Release(t.Context(), nil))
			require.NoError(t, granted(t, third).Release(t.Context(), nil))
			require.Empty(t, server.Children("/lock"))
		})
	}
}

// rival has asked for /lock in a session of its own, behind whoever stands there.
func rival(t *testing.T, server *zktest.Server) <-chan outcome {
	t.Helper()
	return ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)
}

// behindRival returns what stands in the queue of /lock for owners in s, and the hold of a rival, who has the lock.
func behindRival(t *testing.T, limit int, retention time.Duration) (s *Session, server *zktest.Server, h *Hold, l *handoff) {
	t.Helper()
	s, server = connected(t)
	h = granted(t, rival(t, server))
	return s, server, h, share(s, limit, retention)
}

// losesItsNode has c be told that its node is gone.
func (c *contender) losesItsNode() {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c.lose(errNodeDeleted)
}

// losesAllNodes has all contenders of s be told that.
func (s *Session) losesAllNodes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.live {
		c.lose(errNodeDeleted)
	}
}

// onlyNode returns the node of a session that has one.
func (s *Session) onlyNode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.live {
		return c.node
	}
	return ""
}

func TestThePlaceOfAMemberThatGivesUpInTheQueueGoesToTheNextOne(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, server, h, l := behindRival(t, 10, 0)
		ctx, giveUp := context.WithCancel(t.Context())
		first, second := ask(ctx, l.Acquire), ask(t.Context(), l.Acquire)
		place := s.onlyNode()
		behind := rival(t, server)
		giveUp()
		require.ErrorIs(t, (<-first).err, context.Canceled)
		require.NoError(t, h.Release(t.Context(), nil))
		h = granted(t, second)
		require.Equal(t, place, h.Node())
		require.Empty(t, behind)
		require.NoError(t, h.Release(t.Context(), nil))
		require.NoError(t, granted(t, behind).Release(t.Context(), nil))
		require.Empty(t, server.Children("/lock"))
		listed := server.Requests()[zktest.OpGetChildren2]
		require.NoError(t, lock(t, l).Release(t.Context(), nil))
		require.Equal(t, listed+1, server.Requests()[zktest.OpGetChildren2], "of the place nothing is known any more")
	})
}

// Another Locker of the session hands it the lock as it gives up.
func TestALockThatIsHandedToAMemberThatGivesUpGoesToTheNextOneAndElseAtOnce(t *testing.T) {
	for name, next := range map[string]bool{"one waits": true, "none waits": false} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			h := hold(t, s)
			l := share(s, 10, 0)
			l.queue.options.MinHold = time.Minute
			ctx := timed{t.Context(), make(chan struct{})}
			first, second := ask(ctx, l.Acquire), ask(ctx, l.Acquire)
			if next {
				second = ask(t.Context(), l.Acquire)
			}
			s.mu.Lock()
			close(ctx.up)
			s.mu.Unlock()
			_, err := h.release(nil, false)
			require.NoError(t, err)
			require.Error(t, (<-first).err)
			if next {
				granted(t, second).ReleaseUnused(nil)
			}
			synctest.Wait()
			require.Empty(t, server.Children("/lock"))
		})
	}
}

func TestThePlaceOfAMemberThatGivesUpIsLeftIfNobodyComesToTakeIt(t *testing.T) {
	for name, members := range map[string]int{"none waits": 1, "the next one gives up too": 2} {
		virtual.Run(t, name, func(t *testing.T) {
			_, server, h, l := behindRival(t, 10, 0)
			ctx, giveUp := context.WithCancel(t.Context())
			var asked []<-chan outcome
			for range members {
				asked = append(asked, ask(ctx, l.Acquire))
			}
			giveUp()
			for _, came := range asked {
				require.ErrorIs(t, (<-came).err, context.Canceled)
			}
			synctest.Wait()
			require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/lock"))
			require.NoError(t, h.Release(t.Context(), nil))
			require.NoError(t, lock(t, l).Release(t.Context(), nil))
		})
	}
}

// Any other error is for the call to retry, a place that has ended is nobody's, and one is kept
// at a time: of owners who share no turn several may give up at once.
func TestOnlyAPlaceThatStandsIsWaitedForAndWhoseCallHasGivenUpIsKept(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		granted(t, rival(t, server))
		l := share(s, 10, 0)
		ctx, giveUp := context.WithCancel(t.Context())
		first := ask(ctx, l.Acquire)
		var c *contender
		for _, c = range s.live {
		}
		require.False(t, l.keepPlace(c, context.Canceled), "nobody waits")
		second := ask(ctx, l.Acquire)
		for _, err := range []error{nil, errNodeDeleted, recipe.ErrUnordered, client.ErrSessionOver} {
			require.False(t, l.keepPlace(c, err), "%v", err)
		}
		s.mu.Lock()
		c.end(errNodeDeleted, lost)
		s.mu.Unlock()
		require.False(t, l.keepPlace(c, context.Canceled))
		giveUp()
		for _, came := range []<-chan outcome{first, second} {
			require.ErrorIs(t, (<-came).err, context.Canceled)
		}
	})
}

func TestAPlaceThatIsWorthNothingIsNotTheNextMembers(t *testing.T) {
	for name, end := range map[string]func(s *Session, server *zktest.Server, place string, giveUp func()){
		"an operator has deleted it": func(s *Session, server *zktest.Server, place string, giveUp func()) {
			_ = s.client.Conn.Delete(place, -1)
			giveUp()
		},
		"it was lost as its call gave up": func(s *Session, _ *zktest.Server, _ string, giveUp func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			giveUp()
			for _, c := range s.live {
				c.lose(errNodeDeleted)
			}
		},
		"somebody has asked for it back": func(s *Session, _ *zktest.Server, _ string, giveUp func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, c := range s.live {
				c.revoke()
			}
			giveUp()
		},
		"its session has expired": func(s *Session, server *zktest.Server, _ string, giveUp func()) {
			giveUp()
			server.ExpireSession(s.client.Current().ID)
		},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			s, server, h, l := behindRival(t, 10, 0)
			ctx, giveUp := context.WithCancel(t.Context())
			first, second := ask(ctx, l.Acquire), ask(t.Context(), l.Acquire)
			place := s.onlyNode()
			end(s, server, place, giveUp)
			require.ErrorIs(t, (<-first).err, context.Canceled)
			time.Sleep(time.Second)
			require.NoError(t, h.Release(t.Context(), nil))
			h = granted(t, second)
			require.NotEqual(t, place, h.Node())
			require.False(t, latch.IsClosed(h.Revoked()))
			require.NoError(t, h.Release(t.Context(), nil))
			require.Empty(t, server.Children("/lock"))
		})
	}
}

// gaveUp returns what a call is told that waits for a second at most.
func gaveUp(t *testing.T, l Source) error {
	ctx := within(t, time.Second)
	return (<-ask(ctx, l.Acquire)).err
}

// requireThatNobodyIsKnownToHaveIt has a member give up while another one fetches the lock from
// a server that is silent.
func requireThatNobodyIsKnownToHaveIt(t *testing.T, server *zktest.Server, l Source) {
	t.Helper()
	server.Freeze()
	fetches := ask(t.Context(), l.Acquire)
	err := gaveUp(t, l)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrLocked, "nobody is known to have it")
	server.Thaw()
	require.NoError(t, granted(t, fetches).Release(t.Context(), nil))
}

// What has been so of a turn before is no matter of this one.
func TestAMemberIsToldThatTheLockIsTakenIfItsHandoffHasGotAsFarAsTheQueue(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other := connect(t, server)
		l := share(s, 10, 0)
		elsewhere := lock(t, lockAt(other, "/lock"))
		fetches := ask(t.Context(), l.Acquire)
		require.ErrorIs(t, gaveUp(t, l), ErrLocked, "it stands in the queue")
		require.NoError(t, elsewhere.Release(t.Context(), nil))
		h := granted(t, fetches)
		require.ErrorIs(t, gaveUp(t, l), ErrLocked, "it has the lock")
		require.NoError(t, h.Release(t.Context(), nil))
		requireThatNobodyIsKnownToHaveIt(t, server, l)
	})
}

func TestAMemberIsNotToldThatTheLockIsTakenForWhatACallBeforeHasLeft(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 10, 0)
		require.NoError(t, lock(t, l).Release(t.Context(), nil)) // the path is there
		create := server.HoldReply(zktest.OpCreate)
		require.ErrorIs(t, gaveUp(t, l), context.DeadlineExceeded)
		create.Release()
		synctest.Wait()
		require.Empty(t, server.Children("/lock"))
		requireThatNobodyIsKnownToHaveIt(t, server, l)
	})
}

// Whoever fetches the lock then has yet to come as far as the queue.
func TestAMemberIsNotToldThatTheLockIsTakenWhenItsHandoffHasLostItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ elsewhere, kept bool }{
		"where it had the lock":                 {},
		"where one of it waited":                {elsewhere: true},
		"where one waited that had given it up": {elsewhere: true, kept: true},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			l := share(s, 10, 0)
			if c.elsewhere {
				lock(t, lockAt(connect(t, server), "/lock"))
			}
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			ask(ctx, l.Acquire)
			ask(t.Context(), l.Acquire)
			if c.kept {
				giveUp()
			}
			require.ErrorIs(t, gaveUp(t, l), ErrLocked)
			server.Freeze()
			s.losesAllNodes()
			err := gaveUp(t, l)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, ErrLocked, "nobody is known to have it")
			server.Thaw()
			synctest.Wait()
			require.ErrorIs(t, gaveUp(t, l), ErrLocked, "it stands in the queue again")
		})
	}
}

// A Locker may be kept for long after its last use.
func TestAHandoffWithoutANodeKeepsNoHoldInMemory(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		l := share(s, 10, 0)
		last := func() weak.Pointer[Hold] {
			h := lock(t, l)
			require.NoError(t, h.Release(t.Context(), nil))
			return weak.Make(h)
		}()
		require.NoError(t, hold(t, s).Release(t.Context(), nil)) // so that the session's last delete is another one
		time.Sleep(time.Second)
		runtime.GC()
		require.True(t, last.Value() == nil)
		runtime.KeepAlive(l)
	})
}

// A function of the trace may take its time.
func TestTheEndOfASessionIsToldToAHandoffsCallersThoughTheOneThatFetchesHangs(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		l := share(s, 10, 0)
		goesOn, fetches := make(chan struct{}), make(chan error)
		go func() {
			_, err := l.Acquire(t.Context(), enqueuing(func() { <-goesOn }))
			fetches <- err
		}()
		synctest.Wait()
		members := []<-chan outcome{ask(t.Context(), l.Acquire), ask(t.Context(), l.Acquire)}
		_, err := l.Try(t.Context(), nil)
		require.ErrorIs(t, err, ErrLocked)
		s.end()
		for _, m := range members {
			synctest.Wait()
			require.Len(t, m, 1)
			require.ErrorIs(t, (<-m).err, client.ErrClosed)
		}
		_, err = l.Try(t.Context(), nil)
		require.ErrorIs(t, err, client.ErrClosed)
		close(goesOn)
		require.ErrorIs(t, <-fetches, client.ErrClosed)
	})
}

func TestATryAsksNoServerWhileItsHandoffHasTheLockOrFetchesIt(t *testing.T) {
	for name, busy := range map[string]func(t *testing.T, server *zktest.Server, l Source) <-chan outcome{
		"it has the lock": func(t *testing.T, server *zktest.Server, l Source) <-chan outcome {
			had := make(chan outcome, 1)
			had <- outcome{hold: lock(t, l)}
			server.Freeze()
			return had
		},
		"a call fetches it": func(t *testing.T, server *zktest.Server, l Source) <-chan outcome {
			server.Freeze()
			return ask(t.Context(), l.Acquire)
		},
		"a try fetches it": func(t *testing.T, server *zktest.Server, l Source) <-chan outcome {
			server.Freeze()
			return ask(t.Context(), l.Try)
		},
		"the next fetches it": func(t *testing.T, server *zktest.Server, l Source) <-chan outcome {
			h := lock(t, l)
			next := ask(t.Context(), l.Acquire)
			server.Freeze()
			h.Token()
			_, _ = h.release(nil, false)
			synctest.Wait()
			return next
		},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			l := share(s, 10, 0)
			has := busy(t, server, l)
			began := time.Now()
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err := l.Try(ctx, nil)
				cancel()
				require.ErrorIs(t, err, ErrLocked)
				require.Zero(t, time.Since(began))
			}
			waits := ask(t.Context(), l.Acquire)
			server.Thaw()
			h := granted(t, has)
			require.Empty(t, waits)
			require.Len(t, server.Children("/lock"), 1, "who waits for a handoff stands in no queue")
			require.NoError(t, h.Release(t.Context(), nil))
			require.NoError(t, granted(t, waits).Release(t.Context(), nil))
			require.Empty(t, server.Children("/lock"))
		})
	}
}

// However long a turn has been while nobody else queued.
func TestAHandoffThatIsNotAloneSharesATurnUpToItsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		limit  int
		before int // owners that the turn has had
		ours   int // that have the lock before the one who has come then
	}{
		"a node each":              {limit: 1, before: 1, ours: 0},
		"a turn of three":          {limit: 3, before: 1, ours: 2},
		"a turn of three, in use":  {limit: 3, before: 2, ours: 1},
		"a turn of three, is over": {limit: 3, before: 5, ours: 0},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			l := share(s, c.limit, time.Hour)
			h := lock(t, l)
			for range c.before - 1 {
				require.NoError(t, h.Release(t.Context(), nil))
				h = lock(t, l)
			}
			elsewhere := ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)
			var members []<-chan outcome
			for range 4 {
				members = append(members, ask(t.Context(), l.Acquire))
			}
			for range c.ours {
				_, _ = h.release(nil, false)
				h = granted(t, members[0])
				members = members[1:]
			}
			_, _ = h.release(nil, false)
			require.NoError(t, granted(t, elsewhere).Release(t.Context(), nil))
			for _, m := range members {
				require.NoError(t, granted(t, m).Release(t.Context(), nil))
			}
		})
	}
}

func TestAHandoffThatIsAloneSharesItsTurnWithoutALimit(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 2, 0)
		h := lock(t, l)
		node := h.Node()
		var before map[zktest.Op]int
		for i := range 10 {
			next := ask(t.Context(), l.Acquire)
			_, _ = h.release(nil, false)
			h = granted(t, next)
			require.Equal(t, node, h.Node())
			if i == 0 { // by now the queue is watched
				synctest.Wait()
				before = server.Requests()
			}
		}
		require.Equal(t, before, server.Requests())
	})
}

// Of who has come the queue tells a round trip later: by its watch that there is a change, then by a list what it was.
func TestAHandoffSharesNoTurnBeyondItsLimitUntilTheQueueTellsThatNobodyHasCome(t *testing.T) {
	const latency = time.Millisecond
	for name, c := range map[string]struct {
		another bool // session: its own is known at once
		told    time.Duration
	}{
		"one of its own session":                {},
		"another's, of whom the watch has told": {another: true, told: 3 * latency},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(latency, latency))
			s := connect(t, server)
			comes := s
			if c.another {
				comes = connect(t, server)
			}
			l := share(s, 2, time.Hour)
			h := take(t, l)
			time.Sleep(3 * latency) // the queue is watched
			for range 2 {
				require.NoError(t, h.Release(t.Context(), nil))
				h = lock(t, l)
			}
			beside, member := ask(t.Context(), lockAt(comes, "/lock").Acquire), ask(t.Context(), l.Acquire)
			time.Sleep(c.told)
			_, _ = h.release(nil, false)
			select {
			case o := <-beside:
				require.NoError(t, o.err)
				require.NoError(t, o.hold.Release(t.Context(), nil))
			case <-member:
				require.Fail(t, "the turn goes on beyond its limit")
			}
			require.NoError(t, (<-member).err)
		})
	}
}

func TestACallIsToldOfALockThatItGetsByANodeThatIsThere(t *testing.T) {
	for name, get := range map[string]func(l *handoff, h *Hold, call Call) (*Hold, error){
		"a call, the node was kept": func(l *handoff, h *Hold, call Call) (*Hold, error) {
			_, _ = h.release(nil, false)
			return l.Acquire(context.Background(), call)
		},
		"a try, the node was kept": func(l *handoff, h *Hold, call Call) (*Hold, error) {
			_, _ = h.release(nil, false)
			return l.Try(context.Background(), call)
		},
		"a call that has waited": func(l *handoff, h *Hold, call Call) (*Hold, error) {
			time.AfterFunc(time.Second, func() { _, _ = h.release(nil, false) })
			return l.Acquire(context.Background(), call)
		},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, _ *zktest.Server) {
			l := share(s, 10, time.Hour)
			l.queue.options.NewHistory = func(string, int64) History { return untold{} }
			before, call := lock(t, l), &calls{then: func() {}}
			h, err := get(l, before, call)
			require.NoError(t, err)
			require.Equal(t, before.Node(), h.Node())
			require.Equal(t, []*Hold{h}, call.told)
			require.Empty(t, call.ahead, "it has taken no place in the queue")
		})
	}
}

// Those who wait for it may have no deadline, and so nothing but the log.
func TestACallThatOthersWaitForIsLoggedWhateverItsDeadlineUntilItIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		stuck bool
		told  int
	}{
		"others wait for it":           {limit: 2, stuck: true, told: 1},
		"nobody else does":             {limit: 1, stuck: true},
		"it has the lock, and is over": {limit: 2},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, log := connectTold(t, server)
			l := share(s, c.limit, 0)
			if c.stuck {
				server.Freeze()
			}
			ctx := within(t, 3*sessionTimeout)
			came := ask(ctx, l.Acquire)
			time.Sleep(2 * sessionTimeout)
			synctest.Wait()
			server.Thaw()
			<-came
			s.end()
			require.Equal(t, c.told, strings.Count(log.String(), "gets nowhere"), log.String())
		})
	}
}

func TestASessionThatIsClosedSaysWhatItHeldAndIsDrained(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		var paths []string
		for i := range 10 {
			paths = append(paths, fmt.Sprintf("/lock%d", i))
			take(t, lockAt(s, paths[i]))
		}
		kept := NewHandoff(lockAt(s, "/other"), 1, time.Hour)
		require.NoError(t, lock(t, kept).Release(t.Context(), nil))
		require.Equal(t, paths, s.Close())
		require.True(t, latch.IsClosed(s.Drain()))
	})
}

func TestANodeIsNotKeptForAnOwnerWhoCannotComeAnyMore(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := granted(t, ask(t.Context(), share(s, 1, time.Hour).Acquire))
		drained := s.Drain()
		require.NoError(t, h.Release(t.Context(), nil))
		require.True(t, latch.IsClosed(drained))
		require.Empty(t, server.Children("/lock"))
	})
}
