package queue

import (
	"context"
	"log/slog"
	"sync"
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

// sessionTimeout is that of the sessions here.
const sessionTimeout = 20 * time.Second

// connect returns a session of the server.
func connect(t *testing.T, server *zktest.Server) *Session {
	t.Helper()
	return connectBy(t, server, new(clock.Clock), sessionTimeout, client.Options{Dialer: server.Dial})
}

func connectBy(t *testing.T, server *zktest.Server, c *clock.Clock, timeout time.Duration, o client.Options) *Session {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Hosts = wire.NewHosts()
	s := NewSession(client.New(timeout, c, o))
	require.NoError(t, s.client.Connect(t.Context(), []string{server.PipeAddr()}, nil))
	t.Cleanup(func() { s.end() })
	return s
}

// end closes the session as its user does.
func (s *Session) end() {
	s.Close()
	s.client.Close(client.RequestPatience)
}

// connected returns a session with a server of its own.
func connected(t *testing.T) (*Session, *zktest.Server) {
	t.Helper()
	server := zktest.NewServer(t)
	return connect(t, server), server
}

// inSession runs f in virtual time, with a session that has a server of its own.
func inSession(t *testing.T, f func(t *testing.T, s *Session, server *zktest.Server)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		s, server := connected(t)
		f(t, s, server)
	})
}

// runInSession is inSession of a case that has a name.
func runInSession(t *testing.T, name string, f func(t *testing.T, s *Session, server *zktest.Server)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inSession(t, f) })
}

func defaults() Options {
	return Options{ACL: zk.WorldACL(zk.PermAll)}
}

// lockAt returns the queue for a lock.
func lockAt(s *Session, path string) *Queue { return New(s, path, recipe.Exclusive, defaults()) }

// lockNode is the entry of a lock node whose parent is there.
func (q *Queue) lockNode() entry { return entry{nodes: 1, above: *q.parents()} }

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	t.Cleanup(stop)
	return ctx
}

// take takes a lock.
func take(t *testing.T, l Source) *Hold {
	t.Helper()
	h, err := l.Acquire(t.Context(), nil)
	require.NoError(t, err)
	return h
}

// hold takes a lock in s.
func hold(t *testing.T, s *Session) *Hold {
	t.Helper()
	return take(t, lockAt(s, "/lock"))
}

// create makes a node that is everybody's.
func create(t *testing.T, conn *zk.Conn, path string, flags int32) {
	t.Helper()
	_, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
}

// write has a node say something else.
func write(t *testing.T, conn *zk.Conn, path string, what []byte) {
	t.Helper()
	_, err := conn.Set(path, what, -1)
	require.NoError(t, err)
}

// allow says what everybody may do with a node.
func allow(t *testing.T, conn *zk.Conn, path string, perms int32) {
	t.Helper()
	_, err := conn.SetACL(path, zk.WorldACL(perms), -1)
	require.NoError(t, err)
}

// full leaves the session of s as much to clean up as it bears, and returns what each one of
// that waits for.
func full(t *testing.T, s *Session) (cleaned chan struct{}) {
	t.Helper()
	cleaned = make(chan struct{})
	for s.client.MakeRoom(overCtx(t)) == nil {
		s.client.CleanUp(func() { <-cleaned })
	}
	return cleaned
}

// Who tries again and again on a server that hangs would pile up what has yet to be cleaned up.
func TestACallWaitsWhileTooMuchIsLeftByCallsBefore(t *testing.T) {
	for name, way := range ways {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			cleaned := full(t, s)
			clean := sync.OnceFunc(func() { close(cleaned) })
			defer clean()
			ctx, cancel := context.WithCancel(t.Context())
			take := func(ctx context.Context, _ Call) (*Hold, error) { return way.take(ctx, s) }
			ends, came := ask(ctx, take), ask(t.Context(), take)
			cancel()
			require.ErrorIs(t, (<-ends).err, context.Canceled)
			time.Sleep(time.Second)
			require.Empty(t, came)
			require.Zero(t, server.Requests()[zktest.OpCreate])
			clean()
			granted(t, came)
		})
	}
}

func TestWhatACallHasLeftIsCountedUntilItIsGone(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		hold(t, connect(t, server))
		cleaned := full(t, s)
		defer close(cleaned)
		cleaned <- struct{}{}
		synctest.Wait()
		hung := server.HoldRequest(zktest.OpDelete, zktest.OnPath("/lock/"))
		ctx, cancel := context.WithCancel(t.Context())
		came := ask(ctx, lockAt(s, "/lock").Acquire)
		cancel()
		require.ErrorIs(t, (<-came).err, context.Canceled)
		synctest.Wait()
		require.Error(t, s.client.MakeRoom(overCtx(t)))
		hung.Release()
		synctest.Wait()
		require.NoError(t, s.client.MakeRoom(overCtx(t)))
		require.Len(t, server.Children("/lock"), 1)
	})
}

// The one who has left it behind may be later than the answer to its delete, and most deletes are nobody's.
func TestADeletionCountsAsLeftBehindUntilItIsDoneInWhateverOrder(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		cleaned := full(t, s)
		defer close(cleaned)
		for range 2 {
			first, second, nobodys := &deletion{contender: &contender{queue: lockAt(s, "/lock")}}, new(deletion), new(deletion)
			second.contender, nobodys.contender = first.contender, first.contender
			first.countLeft()
			first.finish(nil)
			second.finish(nil)
			second.countLeft()
			nobodys.finish(nil)
			require.Error(t, s.client.MakeRoom(overCtx(t)))
		}
		cleaned <- struct{}{}
		synctest.Wait()
		require.NoError(t, s.client.MakeRoom(overCtx(t)))
	})
}

func TestACallThatIsOverOrWhoseSessionIsCreatesNothing(t *testing.T) {
	for name, way := range ways {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			h, err := way.take(t.Context(), s)
			require.NoError(t, err)
			require.NoError(t, h.Release(t.Context(), nil))
			synctest.Wait()
			before := server.Zxid()
			_, err = way.take(overCtx(t), s)
			require.ErrorIs(t, err, context.Canceled)
			synctest.Wait()
			require.Equal(t, before, server.Zxid())
			s.end()
			before = server.Zxid()
			_, err = way.take(t.Context(), s)
			require.ErrorIs(t, err, client.ErrClosed)
			require.Equal(t, before, server.Zxid())
		})
	}
}

func TestAPathThatMayNotBeMadeRefusesTheCall(t *testing.T) {
	for name, way := range ways {
		runInSession(t, name, func(t *testing.T, s *Session, _ *zktest.Server) {
			allow(t, s.client.Conn, "/", zk.PermAll&^zk.PermCreate)
			ctx := within(t, sessionTimeout)
			_, err := way.take(ctx, s)
			require.ErrorIs(t, err, zk.ErrNoAuth)
		})
	}
}

func TestATryThatSomebodyElseIsAheadOfAfterItsLookIsRefused(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other := connect(t, server)
		require.NoError(t, hold(t, other).Release(t.Context(), nil))
		late := server.HoldRequest(zktest.OpCreate, zktest.OnSession(s.client.ID()))
		ctx := within(t, sessionTimeout/4)
		came := ask(ctx, lockAt(s, "/lock").Try)
		<-late.Struck()
		h := hold(t, other)
		late.Release()
		o := <-came
		require.ErrorIs(t, o.err, ErrLocked)
		require.NotErrorIs(t, o.err, context.DeadlineExceeded)
		synctest.Wait()
		require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/lock"))
	})
}

// Where to wait is what a lock is for, and no matter for the log. Behind that it is.
func TestTheLogTellsOfACallThatGetsNowhereWhenItStandsInTheQueueNoMore(t *testing.T) {
	for name, tc := range map[string]struct {
		dir string
		own bool
	}{
		"behind its own session": {"/lock", true},
		"behind another one":     {"/lock", false},
		"for permits":            {"/sem/leases", false},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, log := connectTold(t, server)
			first := s
			if !tc.own {
				first = connect(t, server)
			}
			take := ways["a wait"].take
			if tc.dir != "/lock" {
				take = func(ctx context.Context, s *Session) (*Hold, error) {
					return NewSemaphore(s, "/sem", 1, defaults()).Acquire(ctx, 1, nil)
				}
			}
			_, err := take(t.Context(), first)
			require.NoError(t, err)
			ask(t.Context(), func(ctx context.Context, _ Call) (*Hold, error) { return take(ctx, s) })
			time.Sleep(10 * sessionTimeout)
			require.NotContains(t, log.String(), "gets nowhere")
			server.Refuse(true)
			server.Cut()
			time.Sleep(10 * sessionTimeout)
			synctest.Wait()
			require.Contains(t, log.String(), "gets nowhere")
		})
	}
}

// A call has ended when its lock is had.
func TestTheLogTellsOfNoCallThatHasItsLock(t *testing.T) {
	for name, way := range ways {
		virtual.Run(t, name, func(t *testing.T) {
			s, log := connectTold(t, zktest.NewServer(t))
			_, err := way.take(t.Context(), s)
			require.NoError(t, err)
			time.Sleep(10 * sessionTimeout)
			s.end()
			require.NotContains(t, log.String(), "gets nowhere")
		})
	}
}
