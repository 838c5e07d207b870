package friends

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/test/friends/physical"
	"github.com/zklock/zklock/test/friends/topo"
	"github.com/zklock/zklock/zktest"
)

const path, timeout = "/app/place", 4 * time.Second

var (
	_ lock.Locker              = migrations{}
	_ physical.Lock            = (*active)(nil)
	_ topo.LeaderParticipation = (*participation)(nil)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestThePageShowsThisCode(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		code.Write(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?\n)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 5)
	for _, block := range blocks {
		require.True(t, strings.Contains(code.String(), string(block[1])), "it is no code of this package:\n%s", block[1])
	}
}

func inBubble(t *testing.T, test func(t *testing.T, server *zktest.Server)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) { test(t, zktest.NewServer(t)) })
}

// connect opens a session of server through memory, until the test ends.
func connect(t *testing.T, server *zktest.Server) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, timeout, zklock.WithDialer(server.Dial))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func newElection(t *testing.T, s *zklock.Session, value string) *election.Election {
	t.Helper()
	e, err := election.New(s, path, election.WithValue([]byte(value)))
	require.NoError(t, err)
	return e
}

func TestGoose(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		var lockers []lock.Locker
		for range 2 {
			mu, err := zklock.New(connect(t, server), path, zklock.WithoutOwner())
			require.NoError(t, err)
			lockers = append(lockers, migrations{mu})
			require.NotNil(t, goose.WithLocker(migrations{mu}))
		}
		require.NoError(t, lockers[0].Lock(t.Context(), nil))
		locked := make(chan error, 1)
		go func() { locked <- lockers[1].Lock(t.Context(), nil) }()
		synctest.Wait()
		require.Empty(t, locked)
		require.NoError(t, lockers[0].Unlock(t.Context(), nil))
		require.NoError(t, <-locked)
		require.NoError(t, lockers[1].Unlock(t.Context(), nil))
	})
}

func TestVault(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		first, second := connect(t, server), connect(t, server)
		var one, other physical.Lock = &active{session: first, path: path, election: newElection(t, first, "one")},
			&active{session: second, path: path, election: newElection(t, second, "other")}
		requireValue := func(of string) {
			t.Helper()
			held, value, err := other.Value()
			require.NoError(t, err)
			require.Equal(t, of != "", held)
			require.Equal(t, of, value)
		}
		requireValue("")
		_, err := one.Lock(nil)
		require.NoError(t, err)
		requireValue("one")
		stop := make(chan struct{})
		close(stop)
		nothing, err := other.Lock(stop)
		require.NoError(t, err)
		require.Nil(t, nothing)
		require.NoError(t, one.Unlock())
		requireValue("")

		lost, err := one.Lock(nil)
		require.NoError(t, err)
		server.ExpireSession(first.ID())
		<-lost
		_, err = other.Lock(nil)
		require.NoError(t, err)
		requireValue("other")
	})
}

func TestVitess(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		participate := func(id string) *participation {
			s := connect(t, server)
			ctx, stop := context.WithCancel(t.Context())
			return &participation{session: s, path: path, election: newElection(t, s, id), ctx: ctx, stop: stop}
		}
		one, other := participate("one"), participate("other")
		ids, err := other.WaitForNewLeader(t.Context())
		require.NoError(t, err)
		id, err := other.GetCurrentLeaderID(t.Context())
		require.NoError(t, err)
		require.Empty(t, id)

		term, err := one.WaitForLeadership()
		require.NoError(t, err)
		require.Equal(t, "one", <-ids)
		id, err = other.GetCurrentLeaderID(t.Context())
		require.NoError(t, err)
		require.Equal(t, "one", id)
		server.ExpireSession(one.session.ID())
		<-term.Done()

		term, err = one.WaitForLeadership()
		require.NoError(t, err)
		interrupted := make(chan error)
		go func() {
			_, err := other.WaitForLeadership()
			interrupted <- err
		}()
		synctest.Wait()
		go other.Stop()
		require.Equal(t, topo.NewError(topo.Interrupted, path), <-interrupted)
		one.Stop()
		require.Error(t, term.Err())
		synctest.Wait() // the node of who gave up goes in the background
		require.Empty(t, server.Children(path))
		for range ids {
		}
	})
}

func TestAsynq(t *testing.T) {
	redis := miniredis.RunT(t)
	opt := asynq.RedisClientOpt{Addr: redis.Addr()}
	server := zktest.NewServer(t)
	ended := make(chan error)
	for range 2 {
		s, err := zklock.Connect(t.Context(), []string{server.Addr()}, timeout)
		require.NoError(t, err)
		defer s.Close()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		e := newElection(t, s, "")
		go func() { ended <- schedule(ctx, e, opt) }()
		require.Eventually(t, func() bool {
			tasks, _ := redis.List("asynq:{default}:pending")
			return len(tasks) > 0
		}, time.Minute, 10*time.Millisecond)
		redis.Del("asynq:{default}:pending")
		stop() // the next one leads
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}

func TestErrgroup(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		mu, err := zklock.New(s, path)
		require.NoError(t, err)
		var built atomic.Int32
		build := func(context.Context, string) error {
			built.Add(1)
			return nil
		}
		require.NoError(t, rebuild(t.Context(), mu, []string{"a", "b", "c"}, build))
		require.EqualValues(t, 3, built.Load())

		broken := errors.New("broken")
		require.ErrorIs(t, rebuild(t.Context(), mu, []string{"a", "b"}, func(ctx context.Context, part string) error {
			if part == "a" {
				return broken
			}
			<-ctx.Done()
			return nil
		}), broken)
		require.ErrorIs(t, rebuild(t.Context(), mu, []string{"a", "b"}, func(ctx context.Context, part string) error {
			if part == "a" {
				server.ExpireSession(s.ID())
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}), zklock.ErrLost)
	})
}
