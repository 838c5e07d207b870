package queue

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// kept takes the lock and gives it back, and returns its node, which is kept.
func kept(t *testing.T, l Source, server *zktest.Server) string {
	t.Helper()
	h := lock(t, l)
	require.NoError(t, h.Release(t.Context(), nil))
	require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/lock"), "the node is kept")
	return h.Node()
}

// keeping returns whose node a handoff has, and the timer that ends its keeping.
func (t *handoff) keeping() (*contender, *time.Timer) {
	t.queue.session.mu.Lock()
	defer t.queue.session.mu.Unlock()
	return t.node, t.expiry
}

func TestANodeIsKeptSinceItsLastOwnerAndByOneTimer(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const retention = time.Second
		s, server := connected(t)
		l := share(s, 1, retention)
		for range 2 { // each node
			node := kept(t, l, server)
			_, timer := l.keeping()
			time.Sleep(retention / 2)
			h := lock(t, l)
			require.Equal(t, node, h.Node())
			time.Sleep(retention / 4)
			require.NoError(t, h.Release(t.Context(), nil))
			_, same := l.keeping()
			require.Same(t, timer, same, "a timer for each owner would be as many as there are owners in its time")
			time.Sleep(retention - time.Millisecond)
			require.Len(t, server.Children("/lock"), 1)
			time.Sleep(2 * time.Millisecond)
			require.Empty(t, server.Children("/lock"))
		}
		kept(t, l, server)
		h := lock(t, l)
		time.Sleep(2 * retention)
		require.NoError(t, h.Err(), "it has an owner")
		require.NoError(t, h.Release(t.Context(), nil))
		time.Sleep(retention - time.Millisecond)
		require.Len(t, server.Children("/lock"), 1)
		time.Sleep(2 * time.Millisecond)
		require.Empty(t, server.Children("/lock"))
	})
}

func TestANodeThatNobodyHasComeToUseIsNotKept(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 2, time.Hour)
		lock(t, l).ReleaseUnused(nil)
		synctest.Wait()
		require.Empty(t, server.Children("/lock"))
	})
}

func TestANodeThatIsKeptIsGivenUpAtOnceForWhoeverQueues(t *testing.T) {
	for name, c := range map[string]struct {
		before func(server *zktest.Server)
		ours   bool // who comes is of the same session
	}{
		"elsewhere":                    {before: func(*zktest.Server) {}},
		"in its session":               {before: func(*zktest.Server) {}, ours: true},
		"after a look that was broken": {before: brokenLook},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			other := connect(t, server)
			l := share(s, 2, time.Hour)
			kept(t, l, server)
			c.before(server)
			_, timer := l.keeping()
			if c.ours {
				other = s
			}
			next := lock(t, lockAt(other, "/lock"))
			require.False(t, timer.Stop(), "there is nothing to give up")
			require.NoError(t, next.Release(t.Context(), nil))
		})
	}
}

// brokenLook has the connections lost, and the next one too, with the answer to what is asked
// of a queue.
func brokenLook(server *zktest.Server) {
	look := server.DropReply(zktest.OpGetChildren2)
	server.Cut()
	<-look.Struck()
	time.Sleep(sessionTimeout / 4)
}

// Its own list, which came with the create, has not shown the other one.
func TestANodeIsNotKeptIfTheQueueHasShownAnotherSince(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other := connect(t, server)
		l := share(s, 2, time.Hour)
		var next <-chan outcome
		h, err := l.Acquire(t.Context(), enqueuing(func() { next = ask(t.Context(), lockAt(other, "/lock").Acquire) }))
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, h.Release(t.Context(), nil))
		require.NoError(t, granted(t, next).Release(t.Context(), nil))
	})
}

// Until the queue is read again, nobody knows who has come. The list may show that nobody has.
func TestALockWhoseQueueHasChangedIsTakenByANewNode(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 10, time.Hour)
		node := kept(t, l, server)
		list := server.HoldRequest(zktest.OpGetChildren2)
		create(t, connect(t, server).client.Conn, "/lock/config", 0)
		<-list.Struck()
		came := ask(t.Context(), l.Acquire)
		list.Release()
		require.NotEqual(t, node, granted(t, came).Node())
		require.Len(t, server.Children("/lock"), 2)
	})
}

func TestALockIsNotTakenAgainByANodeWhoseLeaseIsOver(t *testing.T) {
	for _, limit := range []int{1, 2} {
		inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
			l := share(s, limit, time.Hour)
			kept(t, l, server)
			s.endLease()
			h := take(t, l)
			require.True(t, h.Valid(), "limit %d", limit)
		})
	}
}

// Nobody holds anything by it, nor is next for anything.
func TestANodeThatIsKeptWhenTheLeaseEndsGoesAndCostsNoOtherPlaceInLine(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		others := inLine(t, connect(t, server), "/queue", 2)
		kept(t, share(s, 1, time.Hour), server)
		third := ask(t.Context(), lockAt(s, "/queue").Acquire)
		before := server.Children("/queue")
		s.endLease()
		time.Sleep(sessionTimeout / 8)
		require.Empty(t, server.Children("/lock"))
		require.Equal(t, before, server.Children("/queue"))
		second := goOn(<-others, others)
		require.NoError(t, second.Release(t.Context(), nil))
		require.NoError(t, granted(t, third).Err())
	})
}

func TestALockThatSomebodyHasAskedForGoesWithItsOwner(t *testing.T) {
	revoke := func(h *Hold) {
		h.contender.queue.session.mu.Lock()
		defer h.contender.queue.session.mu.Unlock()
		h.contender.revoke()
	}
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 10, time.Hour)
		h := lock(t, l)
		revoke(h)
		require.NoError(t, h.Err(), "its owner gives it back")
		next := ask(t.Context(), l.Acquire)
		_, _ = h.release(nil, false)
		last := granted(t, next)
		require.NotEqual(t, h.Node(), last.Node())
		revoke(last)
		require.NoError(t, last.Release(t.Context(), nil))
		require.Empty(t, server.Children("/lock"), "the node is not kept")
		last = lock(t, l)
		require.NoError(t, last.Release(t.Context(), nil))
		revoke(last)
		synctest.Wait()
		require.Empty(t, server.Children("/lock"), "the node is kept no longer")
	})
}

// A hold does not hear of that at once, and may be given back later still.
func TestANodeThatWasDeletedUnseenIsNoMatterOfTheOneAfterIt(t *testing.T) {
	for name, late := range map[string]func(t *testing.T, before *Hold){
		"it is heard of":   func(t *testing.T, before *Hold) { <-before.Lost() },
		"it is given back": func(t *testing.T, before *Hold) { require.NoError(t, before.Release(t.Context(), nil)) },
	} {
		for which, again := range map[string]bool{"in use": false, "gone": true} {
			virtual.Run(t, name+", the next one is "+which, func(t *testing.T) {
				const retention = time.Second
				s, server := connected(t)
				l := share(s, 1, retention)
				node := kept(t, l, server)
				before := lock(t, l) // the timer of the keeping runs on
				require.NoError(t, connect(t, server).client.Conn.Delete(node, -1))
				server.SetSequence("/lock", 5) // nobody follows anybody
				h := lock(t, l)
				require.NotEqual(t, node, h.Node())
				require.True(t, before.IsHeld(), "nobody has told")
				if again {
					require.NoError(t, h.Release(t.Context(), nil))
					require.Empty(t, server.Children("/lock"), "who has the node before counts as another who queues")
				}
				late(t, before)
				if again {
					h = lock(t, l)
				}
				require.NoError(t, h.Release(t.Context(), nil))
				require.Len(t, server.Children("/lock"), 1, "the node is kept")
				node, h = h.Node(), lock(t, l)
				require.Equal(t, node, h.Node())
				require.NoError(t, h.Release(t.Context(), nil))
				time.Sleep(retention + time.Millisecond)
				require.Empty(t, server.Children("/lock"), "and not for ever")
			})
		}
	}
}

// hesitant is a ctx that is looked at when it is told to be.
type hesitant struct {
	context.Context
	look chan struct{}
}

func (c hesitant) Err() error {
	<-c.look
	return c.Context.Err()
}

// The call that has it began when there was an owner, and came to its turn when that owner's
// node was kept and somebody had deleted it.
func TestALockThatHasAnOwnerIsNotHadByAnotherForANodeThatWasKept(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		conn := connect(t, server).client.Conn
		l := share(s, 1, time.Hour)
		l.queue.options.NewHistory = func(string, int64) History { return untold{} }
		before := lock(t, l)
		synctest.Wait()
		ctx := hesitant{t.Context(), make(chan struct{})}
		came := ask(ctx, l.Acquire)
		require.NoError(t, before.Release(t.Context(), nil))
		allow(t, conn, "/lock", zk.PermAll&^zk.PermRead) // nobody is told of a change
		require.NoError(t, conn.Delete(before.Node(), -1))
		allow(t, conn, "/lock", zk.PermAll)
		server.SetSequence("/lock", 5) // nobody follows anybody
		c, _ := l.keeping()
		require.Same(t, before.contender, c, "it is kept, as far as is known")
		close(ctx.look)
		h := granted(t, came)
		for range 2 {
			_, err := l.Try(t.Context(), nil)
			require.ErrorIs(t, err, ErrLocked)
			require.True(t, h.Valid())
			time.Sleep(selfWatchDelay)
		}
	})
}

// What an old look at the queue has found does not bear on the node after.
func TestALookAtTheQueueIsForTheNodeThatItWasFor(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 1, time.Hour)
		h := lock(t, l)
		h.Token() // so that the node goes
		before := h.contender
		require.NoError(t, h.Release(t.Context(), nil))
		node := kept(t, l, server)
		require.False(t, l.seen(before, &client.Watch{Names: []string{recipe.Base(node)}, Fired: make(chan struct{})}))
		require.Equal(t, node, lock(t, l).Node())
	})
}

// A node is watched itself only some time after its grant.
func TestANodeIsLostAsSoonAsItsQueueIsFoundMissing(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := lock(t, share(s, 1, time.Hour))
		conn := connect(t, server).client.Conn
		require.NoError(t, conn.Delete(h.Node(), -1))
		require.NoError(t, conn.Delete("/lock", -1))
		synctest.Wait()
		require.ErrorIs(t, h.Err(), ErrLost)
	})
}

func TestAQueueInWhichOthersStandIsNotListedForEachWhoComes(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		conn := connect(t, server).client.Conn
		h := lock(t, share(s, 1, time.Hour))
		come := func(node string) {
			_, err := conn.Create("/lock/"+node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			synctest.Wait()
		}
		lists := func() int { return server.Requests()[zktest.OpGetChildren2] }
		before := lists()
		come("config")
		require.Equal(t, before+1, lists())
		come("x-lock-0000000001")
		require.Equal(t, before+2, lists())
		for i := range 10 {
			come(fmt.Sprintf("x-lock-%010d", 2+i))
		}
		require.Equal(t, before+2, lists())
		require.Zero(t, running("watchQueue"))
		require.NoError(t, h.Release(t.Context(), nil))
		require.NotContains(t, server.Children("/lock"), recipe.Base(h.Node()))
	})
}

// running returns how many goroutines run a function of that name.
func running(name string) int {
	synctest.Wait()
	all := make([]byte, 1<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), "."+name+"(")
}

func TestAQueueIsWatchedOnceAndOnlyForANodeThatGoesOn(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 10, 0)
		require.NoError(t, lock(t, l).Release(t.Context(), nil)) // makes the path
		before := server.Requests()[zktest.OpGetChildren2]
		require.NoError(t, lock(t, l).Release(t.Context(), nil))
		require.Equal(t, before+1, server.Requests()[zktest.OpGetChildren2], "the list that comes with a create")
		require.Empty(t, server.Watches())
		h := lock(t, l)
		for range 3 {
			next := ask(t.Context(), l.Acquire)
			_, _ = h.release(nil, false)
			h = granted(t, next)
			require.Equal(t, 1, running("watchQueue"))
		}
		require.NoError(t, h.Release(t.Context(), nil))
		require.Zero(t, running("watchQueue"))
		require.Empty(t, server.Watches()["/lock"])
	})
}

// A connection may be lost between a look whether there is one and the request for the watch.
func TestAWatchThatWasNeverSetSaysNothingOfTheQueue(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		l := share(s, 1, time.Hour)
		h := lock(t, l)
		server.Refuse(true)
		server.Cut()
		synctest.Wait()
		w := s.client.Watch(client.WatchKey{Path: "/lock", Children: true})
		require.ErrorIs(t, w.Err, zk.ErrConnectionClosed)
		require.True(t, l.seen(h.contender, w))
		require.True(t, l.watchEnded(h.contender, w))
		require.NoError(t, h.Release(t.Context(), nil))
		require.Equal(t, h.Node(), lock(t, l).Node(), "its own list has shown nobody else")
	})
}

// A handoff that takes this for not knowing would keep its node past those that its list has
// shown. The event may come with the list, which no test can have it do each time.
func TestACohortThatHasSeenOthersKnowsThemWhenOneMoreComes(t *testing.T) {
	node := func(sequence int) string {
		return fmt.Sprintf("%s%010d", recipe.Stem("8a0e0000-0000-4000-8000-000000000000", recipe.Exclusive), sequence)
	}
	for _, c := range []struct {
		fired bool
		names []string
		err   error
		want  contention
	}{
		{false, []string{node(1)}, nil, alone},
		{false, []string{node(1), "config"}, nil, alone},
		{false, []string{node(1), node(2)}, nil, others},
		{true, []string{node(1)}, nil, unknown},
		{true, []string{node(1), node(2)}, nil, others},
		{false, nil, zk.ErrNoAuth, others},
		{true, []string{node(1), node(2)}, zk.ErrConnectionClosed, unknown}, // of the connection before
	} {
		w := &client.Watch{Names: c.names, Err: c.err, Fired: make(chan struct{})}
		if c.fired {
			close(w.Fired)
		}
		require.Equal(t, c.want, new(Queue).contentionOf(w, node(1)), "%+v", c)
	}
}

// refusing is a connection to a server that answers requests of one kind with a code, while
// that is not 0, and nothing else.
type refusing struct {
	net.Conn
	op   int32
	code *atomic.Int32

	mu     sync.Mutex // guards asked
	asked  map[uint32]bool
	answer []byte // what is left of one
}

// throttled is the code of a server that has too much to do; moved that of one where the session is no more, which
// refuses an operation of a transaction so, and not that.
const throttled, moved = -127, -118

func refuse(conn net.Conn, op int32, code *atomic.Int32) *refusing {
	return &refusing{Conn: conn, op: op, code: code, asked: make(map[uint32]bool)}
}

// connectRefused returns a session of the server, and what its requests of that kind are
// answered with.
func connectRefused(t *testing.T, server *zktest.Server, op int32) (*Session, *atomic.Int32) {
	t.Helper()
	code := new(atomic.Int32)
	return connectBy(t, server, new(clock.Clock), sessionTimeout, client.Options{
		Dialer: func(network, addr string, timeout time.Duration) (net.Conn, error) {
			conn, err := server.Dial(network, addr, timeout)
			return refuse(conn, op, code), err
		},
	}), code
}

func (c *refusing) Write(p []byte) (int, error) {
	for frame := p; len(frame) >= 12; frame = frame[min(len(frame), 4+int(binary.BigEndian.Uint32(frame))):] {
		if int32(binary.BigEndian.Uint32(frame[8:])) == c.op {
			c.mu.Lock()
			c.asked[binary.BigEndian.Uint32(frame[4:])] = true
			c.mu.Unlock()
		}
	}
	return c.Conn.Write(p)
}

func (c *refusing) Read(p []byte) (int, error) {
	if len(c.answer) == 0 {
		head := make([]byte, 4)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			return 0, err
		}
		c.answer = append(head, make([]byte, binary.BigEndian.Uint32(head))...)
		if _, err := io.ReadFull(c.Conn, c.answer[4:]); err != nil {
			return 0, err
		}
		c.mu.Lock()
		if code := c.code.Load(); code != 0 && c.asked[binary.BigEndian.Uint32(c.answer[4:])] {
			c.refuse(code)
		}
		c.mu.Unlock()
	}
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// refuse has the answer say that, of a request or of the only check of a transaction.
func (c *refusing) refuse(code int32) {
	if code != moved {
		binary.BigEndian.PutUint32(c.answer[16:], uint32(code))
		return
	}
	const check = 20 // where its result is: a kind, whether it is the end, and an error
	end := c.answer[check+9:]
	c.answer = binary.BigEndian.AppendUint32(c.answer[:check:check], math.MaxUint32)
	c.answer = append(c.answer, 0)
	c.answer = binary.BigEndian.AppendUint32(c.answer, uint32(code))
	c.answer = binary.BigEndian.AppendUint32(c.answer, uint32(code))
	c.answer = append(c.answer, end...)
	binary.BigEndian.PutUint32(c.answer, uint32(len(c.answer)-4))
}

func TestAServerThatHasTooMuchToDoIsNotAskedForTheQueueWithoutAPause(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const latency = time.Millisecond
		server := zktest.NewServer(t, zktest.WithLatency(latency, latency))
		s, code := connectRefused(t, server, wire.OpGetChildren2)
		other := connect(t, server)
		l := share(s, 1, time.Hour)
		h := take(t, l)
		time.Sleep(10 * latency)
		code.Store(throttled)
		create(t, other.client.Conn, "/lock/config", 0)
		before := server.Requests()[zktest.OpGetChildren2]
		time.Sleep(time.Minute)
		lists := server.Requests()[zktest.OpGetChildren2] - before
		require.Greater(t, lists, 50)
		require.LessOrEqual(t, lists, 70)
		code.Store(0)
		time.Sleep(2 * time.Second)
		require.NoError(t, h.Release(t.Context(), nil))
		require.Len(t, server.Children("/lock"), 2, "it is known again that nobody queues")
		require.Equal(t, h.Node(), lock(t, l).Node())
	})
}

// The read that is to leave the watch on its node is refused by a server that is busy, or has
// erred.
func TestAHoldIsAskedBackThoughItsWatchWasRefusedOnce(t *testing.T) {
	for _, code := range []int32{throttled, -1, -5} {
		virtual.Run(t, fmt.Sprint(code), func(t *testing.T) {
			server := zktest.NewServer(t)
			refused := server.RefuseRequest(zktest.OpGetData, code)
			h := hold(t, connect(t, server))
			<-refused.Struck()
			time.Sleep(time.Second)
			write(t, connect(t, server).client.Conn, h.Node(), []byte(recipe.RevokeMark))
			synctest.Wait()
			require.True(t, latch.IsClosed(h.Revoked()))
		})
	}
}

// What a server that is busy does not answer has not changed.
func TestAWatchOutlivesARecheckThatIsRefused(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, code := connectRefused(t, server, wire.OpGetData)
		h := hold(t, s)
		time.Sleep(time.Second)
		w := s.client.Watch(client.WatchKey{Path: h.Node()})
		code.Store(throttled)
		time.Sleep(time.Hour)
		require.False(t, w.HasFired())
		code.Store(0)
	})
}

// It may be about to ask once more.
func TestCloseDoesNotWaitForAWatchThatIsRefused(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, code := connectRefused(t, server, wire.OpGetData)
		code.Store(throttled)
		s.client.Watch(client.WatchKey{Path: "/lock"})
		time.Sleep(10 * time.Second)
		began := time.Now()
		s.end()
		require.Zero(t, time.Since(began))
	})
}

func TestTheEndOfASessionDoesNotWaitForAChangeOfAQueue(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		kept(t, share(s, 1, time.Hour), server)
		require.Equal(t, 1, running("watchQueue"))
		began := time.Now()
		s.end()
		require.Zero(t, time.Since(began))
		require.Zero(t, running("watchQueue"))
	})
}
