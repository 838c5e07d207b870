package membership_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// calls is a slog.Handler that calls a function.
type calls struct {
	slog.Handler
	f func()
}

func (calls) Enabled(context.Context, slog.Level) bool          { return true }
func (c calls) Handle(ctx context.Context, _ slog.Record) error { c.f(); return nil }

// A function that takes its time keeps nobody off the list, and nobody waiting.
func TestAMemberDoesNotWaitForUsersCode(t *testing.T) {
	for name, opt := range map[string]func(func()) membership.Option{
		"notify": func(f func()) membership.Option { return membership.WithNotify(func(membership.State) { f() }) },
		"logger": func(f func()) membership.Option {
			return membership.WithLogger(slog.New(calls{slog.DiscardHandler, f}))
		},
	} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
			goOn := make(chan struct{})
			end := sync.OnceFunc(func() { close(goOn) })
			defer end()
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			m, err := membership.Join(ctx, s, path, nil, opt(func() { <-goOn }))
			require.NoError(t, err)
			require.NoError(t, m.Update(ctx, []byte("hello")))
			require.True(t, server.ExpireSession(s.ID()))
			time.Sleep(timeout)
			require.Equal(t, 2, m.State().Registrations)
			end()
			require.NoError(t, m.Leave(t.Context()))
		})
	}
}

func TestAWatchEndsThoughItsLoggerDoesNotReturn(t *testing.T) {
	for name, end := range map[string]func(cancel context.CancelFunc, s *zklock.Session){
		"by its context": func(cancel context.CancelFunc, _ *zklock.Session) { cancel() },
		"by its session": func(_ context.CancelFunc, s *zklock.Session) { s.Close() },
	} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
			theirs := connect(t, server)
			join(t, theirs, "seen")
			for _, hidden := range []string{"/a", "/b"} {
				_, err := theirs.Conn().Create(path+hidden, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermWrite))
				require.NoError(t, err)
			}
			goOn := make(chan struct{})
			defer close(goOn)
			seen := watch(t, s, membership.WithLogger(slog.New(calls{slog.DiscardHandler, func() { <-goOn }})))
			synctest.Wait()
			end(seen.cancel, s)
			select {
			case <-seen.ended:
			case <-time.After(50 * time.Millisecond):
				require.Fail(t, "it waits for the logger")
			}
		})
	}
}
