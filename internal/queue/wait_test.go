package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// Only who can follow another of its session without a list has no use for one.
func TestWritersAndReadersListTheQueueAlongWithTheirCreates(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		take(t, lockAt(s, "/lock").Of(recipe.Write))
		ctx, cancel := context.WithCancel(t.Context())
		var came []<-chan outcome
		for _, kind := range []recipe.Kind{recipe.Write, recipe.Read, recipe.Write, recipe.Read} {
			came = append(came, ask(ctx, lockAt(s, "/lock").Of(kind).Acquire))
		}
		require.Zero(t, server.Requests()[zktest.OpExists])
		cancel()
		for _, ended := range came {
			require.ErrorIs(t, (<-ended).err, context.Canceled)
		}
	})
}

// asking has s ask for the lock at path, and sends what comes of it.
func asking(t *testing.T, s *Session, path string) (held <-chan *Hold, refused <-chan error) {
	t.Helper()
	h, e := make(chan *Hold, 1), make(chan error, 1)
	go func() {
		hold, err := lockAt(s, path).Acquire(t.Context(), nil)
		if err != nil {
			e <- err
			return
		}
		h <- hold
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	return h, e
}

// A contender that is far from its server lists the queue when the last but one goes, so that
// the release of the lock needs no list. Near the server that would cost the others more than
// it gains.
func TestAContenderThatIsFarAwayListsTheQueueBeforeItsTurnHasCome(t *testing.T) {
	for name, tc := range map[string]struct {
		latency time.Duration // each way
		lists   [2]int        // when the last but one has gone, and when the turn has come
	}{
		"far":  {farAway / 2, [2]int{1, 0}},
		"near": {farAway/2 - time.Microsecond, [2]int{0, 1}},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(tc.latency, tc.latency))
			first, _ := asking(t, connect(t, server), "/lock")
			second, _ := asking(t, connect(t, server), "/lock")
			third, _ := asking(t, connect(t, server), "/lock")
			lists := server.Requests()[zktest.OpGetChildren2]
			listed := func() int {
				time.Sleep(time.Second)
				before := lists
				lists = server.Requests()[zktest.OpGetChildren2]
				return lists - before
			}
			require.NoError(t, (<-first).Release(context.Background(), nil))
			h := <-second
			require.Equal(t, tc.lists[0], listed())
			require.Empty(t, third)
			require.NoError(t, h.Release(context.Background(), nil))
			<-third
			require.Equal(t, tc.lists[1], listed())
		})
	}
}

// standings are where a contender of s may wait for the lock. line fills the queue ahead of it,
// and returns who holds the lock.
var standings = map[string]struct {
	latency time.Duration // each way
	line    func(t *testing.T, s *Session, server *zktest.Server) *Hold
}{
	// Who waits behind another contender of its own session watches no node ahead.
	"behind its own session": {0, func(t *testing.T, s *Session, _ *zktest.Server) *Hold { return hold(t, s) }},
	"behind another one":     {0, behind(1)},
	"behind two":             {0, behind(2)},
	"far away, behind two":   {time.Millisecond, behind(2)},
}

func behind(n int) func(t *testing.T, s *Session, server *zktest.Server) *Hold {
	return func(t *testing.T, s *Session, server *zktest.Server) *Hold {
		first := hold(t, connect(t, server))
		for range n - 1 {
			asking(t, connect(t, server), "/lock")
		}
		return first
	}
}

// inEach runs f with a session that is to wait in each of the standings, behind h.
func inEach(t *testing.T, f func(t *testing.T, server *zktest.Server, s *Session, h *Hold)) {
	t.Helper()
	for name, way := range standings {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(way.latency, way.latency))
			s := connect(t, server)
			f(t, server, s, way.line(t, s, server))
		})
	}
}

// last returns the node at the end of the queue.
func last(server *zktest.Server) string {
	return "/lock/" + slices.MaxFunc(server.Children("/lock"), func(a, b string) int {
		one, _ := recipe.Parse(a)
		other, _ := recipe.Parse(b)
		return int(one.Sequence - other.Sequence)
	})
}

func TestAWaiterWhosePlaceIsLostLinesUpAgainAtOnce(t *testing.T) {
	for name, deleted := range map[string]bool{"its node is deleted": true, "its lease is over": false} {
		t.Run(name, func(t *testing.T) {
			inEach(t, func(t *testing.T, server *zktest.Server, s *Session, h *Hold) {
				asking(t, s, "/lock")
				node, before := last(server), len(server.Children("/lock"))
				if deleted {
					require.NoError(t, connect(t, server).client.Conn.Delete(node, -1))
				} else {
					s.mu.Lock()
					c, now := s.contenderAt(node), s.client.Clock.Now()
					s.endLease()
					s.expire(c.incarnation, now)
					s.mu.Unlock()
				}
				time.Sleep(time.Second)
				require.NotContains(t, server.Children("/lock"), recipe.Base(node))
				if deleted || h.IsHeld() {
					require.Len(t, server.Children("/lock"), before)
					require.NoError(t, h.Err())
				}
			})
		})
	}
}

func TestAWaiterThatGivesUpSaysThatTheLockIsTakenAndListsNothing(t *testing.T) {
	inEach(t, func(t *testing.T, server *zktest.Server, s *Session, _ *Hold) {
		ctx := within(t, sessionTimeout/2)
		came := ask(ctx, lockAt(s, "/lock").Acquire)
		time.Sleep(time.Second)
		synctest.Wait()
		lists, before := server.Requests()[zktest.OpGetChildren2], len(server.Children("/lock"))
		o := <-came
		require.ErrorIs(t, o.err, ErrLocked)
		require.ErrorIs(t, o.err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		require.Equal(t, lists, server.Requests()[zktest.OpGetChildren2])
		require.Len(t, server.Children("/lock"), before-1)
	})
}

// The one ahead may have had its check asked for, so that it does not hand the lock over.
func TestAWaiterThatIsNotHandedTheLockSaysThatItIsTakenIfItsTimeIsUpThen(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		h.Check()
		ctx := within(t, time.Second)
		came := ask(ctx, lockAt(s, "/lock").Acquire)
		defer server.HoldRequest(zktest.OpGetChildren2, zktest.OnSession(s.client.ID())).Release()
		require.NoError(t, h.Release(t.Context(), nil))
		o := <-came
		require.ErrorIs(t, o.err, ErrLocked)
		require.ErrorIs(t, o.err, context.DeadlineExceeded)
	})
}

// It is the server that hangs.
func TestACallThatHasStoodBehindNobodyDoesNotSayThatTheLockIsTaken(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		defer server.HoldRequest(zktest.OpGetChildren2).Release()
		err := gaveUp(t, lockAt(s, "/lock"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, ErrLocked)
	})
}

// It has waited its time: what fails is the connection, and not its place.
func TestAPlaceWhoseConnectionChangesAtTheGrantIsKept(t *testing.T) {
	for _, name := range []string{"a wait", "a try"} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			var nodes []string
			h, err := ways[name].take(thoughtful{t.Context(), atTheGrant(s, "/lock", func() {
				nodes = server.Children("/lock")
				server.Cut()
				time.Sleep(sessionTimeout / 4)
			})}, s)
			require.NoError(t, err)
			require.Equal(t, nodes, []string{recipe.Base(h.Node())})
		})
	}
}

// The list that has shown it at the head is of the connection before, and nobody has looked since.
func TestAPlaceThatHasGoneAsItsConnectionChangedAtTheGrantIsNoHold(t *testing.T) {
	for _, name := range []string{"a wait", "a try"} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			other := connect(t, server)
			var unproved *zktest.Fault
			var h *Hold
			ctx := thoughtful{t.Context(), atTheGrant(s, "/lock", func() {
				node := last(server)
				time.Sleep(time.Nanosecond) // the first proof is through, and not what is held
				unproved = server.HoldRequest(zktest.OpMulti, zktest.OnSession(s.client.ID()))
				reconnect(t, server, s)
				require.NoError(t, other.client.Conn.Delete(node, -1))
				h = hold(t, other)
			})}
			came := ask(ctx, func(ctx context.Context, _ Call) (*Hold, error) { return ways[name].take(ctx, s) })
			time.Sleep(time.Second)
			synctest.Wait()
			require.NoError(t, h.Err())
			require.Empty(t, came, "another has the lock")
			require.NoError(t, h.Release(t.Context(), nil))
			unproved.Release()
			granted(t, came)
		})
	}
}

// Somebody else may have the lock, and the queue says so.
func TestAQueueThatMayNotBeListedRefusesTheLock(t *testing.T) {
	for _, name := range []string{"a wait", "a try"} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			h := hold(t, s)
			allow(t, s.client.Conn, "/lock", zk.PermAll&^zk.PermRead)
			_, err := ways[name].take(t.Context(), connect(t, server))
			require.ErrorIs(t, err, zk.ErrNoAuth)
			synctest.Wait()
			require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/lock"))
		})
	}
}

// Events of one connection come in the order of the changes. All that decides must have come
// over it, or the end of the one ahead proves nothing.
func TestTheEndOfTheOneAheadGrantsTheLockByWatchesThatStoodOverOneConnection(t *testing.T) {
	closed := func() chan struct{} {
		c := make(chan struct{})
		close(c)
		return c
	}
	type seen struct {
		at        place
		own, next *client.Watch
		ids       *identities
	}
	for name, tc := range map[string]struct {
		change func(*seen)
		proves bool
	}{
		"both watches stood":                   {func(*seen) {}, true},
		"the node ahead is another session's":  {func(w *seen) { w.next.Stat.EphemeralOwner = 2 }, true},
		"the node ahead is its own session's":  {func(w *seen) { w.next.Stat.EphemeralOwner = 1 }, false},
		"the node ahead has only changed":      {func(w *seen) { w.next.Deleted = false }, false},
		"whose node it was is not known":       {func(w *seen) { w.next.Armed, w.next.Stat = make(chan struct{}), nil }, false},
		"its name is one of another session's": {func(w *seen) { w.next.Stat, w.at.Nearest.Name = nil, nameOf(newIdentities()) }, true},
		"its name is one of its own session's": {func(w *seen) { w.next.Stat, w.at.Nearest.Name = nil, nameOf(w.ids) }, false},
		"its name is another library's": {func(w *seen) {
			w.next.Stat, w.at.Nearest.Name = nil, "_c_f81d4fae-7dec-11d0-a765-00a0c91e6bf6-lock-0000000001"
		}, false},
		"the node ahead was gone before":          {func(w *seen) { w.next.Err, w.next.Stat = zk.ErrNoNode, nil }, true},
		"its own watch is not set":                {func(w *seen) { w.own.Armed = make(chan struct{}) }, false},
		"its own node has changed too":            {func(w *seen) { w.own.Fired = closed() }, false},
		"its own watch is of another connection":  {func(w *seen) { w.own.Link = new(wire.Link) }, false},
		"the other watch is of another one":       {func(w *seen) { w.next.Link = new(wire.Link) }, false},
		"the list is of another connection":       {func(w *seen) { w.at.link = new(wire.Link) }, false},
		"the connection of all three has changed": {func(w *seen) { l := new(wire.Link); w.at.link, w.own.Link, w.next.Link = l, l, l }, false},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, _ *zktest.Server) {
			c := contenderOf("/lock/x-lock-0000000001", 1)
			c.queue.session = s
			l := s.client.Current()
			w := &seen{
				at:   place{Position: recipe.Position{Ahead: 1, Nearest: recipe.Node{Kind: recipe.Exclusive}}, link: l},
				own:  &client.Watch{Link: l, Armed: closed(), Fired: make(chan struct{}), Stat: &zk.Stat{EphemeralOwner: 1}},
				next: &client.Watch{Link: l, Armed: closed(), Fired: closed(), Deleted: true, Stat: &zk.Stat{EphemeralOwner: 3}},
				ids:  s.ids,
			}
			tc.change(w)
			require.Equal(t, tc.proves, c.succeeds(w.at, watched{next: w.next, own: w.own}))
		})
	}
}

// nameOf returns the name of another node.
func nameOf(ids *identities) string {
	_, id := ids.next("/lock", recipe.Exclusive)
	return recipe.Stem(id, recipe.Exclusive) + "0000000001"
}

// It would be asked for again and again, until a proof of it fails.
func TestAWaiterThatMayNotReadItsOwnNodeFails(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
		hold(t, connect(t, server))
		s := connect(t, server)
		take(t, lockAt(s, "/other")) // the lease runs
		o := defaults()
		o.ACL = unreadable()
		_, err := New(s, "/lock", recipe.Exclusive, o).Acquire(t.Context(), nil)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "cannot be watched")
		time.Sleep(time.Second)
		require.Len(t, server.Children("/lock"), 1)
	})
}

func TestAWaitThatEndsAsTheOneAheadGoesListsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(s *Session, cancel func())
		want error
	}{
		"the call is cancelled": {func(_ *Session, cancel func()) { cancel() }, context.Canceled},
		"the session is closed": {func(s *Session, _ func()) { s.Close() }, client.ErrClosed},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			h := hold(t, connect(t, server))
			take(t, lockAt(s, "/other")) // the lease runs
			<-s.client.Watch(client.WatchKey{Path: h.Node()}).Armed
			synctest.Wait() // the list behind a create that found no path may be late
			own := server.HoldRequest(zktest.OpGetData, zktest.OnSession(s.client.ID()))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			came := ask(ctx, lockAt(s, "/lock").Acquire)
			<-own.Struck()
			lists := server.Requests()[zktest.OpGetChildren2]
			h.Release(t.Context(), nil)
			synctest.Wait()
			require.Empty(t, came, "its own node may be gone too")
			tc.end(s, cancel)
			synctest.Wait()
			require.Len(t, came, 1)
			require.ErrorIs(t, (<-came).err, tc.want)
			own.Release()
			s.end()
			require.Equal(t, lists, server.Requests()[zktest.OpGetChildren2])
			require.Empty(t, server.Children("/lock"))
		})
	}
}

func TestTheEndOfASessionEndsItsHoldsAndWaitsAndLeavesNoTimer(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		first, _ := asking(t, s, "/lock")
		h := <-first
		_, refused := asking(t, s, "/lock")
		s.mu.Lock()
		looks := s.expiry
		s.mu.Unlock()
		require.NotNil(t, looks)
		s.Close()
		require.Nil(t, s.expiry)
		require.False(t, looks.Stop(), "nothing is left to be looked at")
		synctest.Wait()
		require.ErrorIs(t, <-refused, client.ErrClosed)
		require.Error(t, h.Err())
		require.Empty(t, s.live)
	})
}

// Nothing would end a hold that it is granted then. Whoever is ahead may have the lock for long.
func TestAWaiterThatMayNotBeProvedFailsBeforeItsTurn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
		h := hold(t, connect(t, server))
		between, leave := context.WithCancel(t.Context())
		ask(between, lockAt(connect(t, server), "/lock").Acquire)
		s, code := connectRefused(t, server, wire.OpMulti)
		_, refused := asking(t, s, "/lock")
		code.Store(-102)
		time.Sleep(sessionTimeout) // its lease is over
		leave()
		time.Sleep(time.Second)
		require.Len(t, refused, 1)
		require.ErrorIs(t, <-refused, zk.ErrNoAuth)
		require.NoError(t, h.Err())
		code.Store(0)
	})
}

// The server has no part in it.
func TestALockGoesOnWithinASessionToWhomAListHasShownNext(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		first := hold(t, s)
		between, leave := context.WithCancel(t.Context())
		ask(between, lockAt(connect(t, server), "/lock").Acquire)
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		leave()
		synctest.Wait()
		require.Len(t, server.Children("/lock"), 2)
		server.Freeze()
		go first.Release(t.Context(), nil)
		granted(t, came)
		server.Thaw()
	})
}
