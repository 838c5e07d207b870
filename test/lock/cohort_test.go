package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// bubble is where a test runs in virtual time: after synctest.Wait everything has happened that
// needs no time.
type bubble struct {
	t      *testing.T
	server *zktest.Server
	path   string
}

func inBubble(t *testing.T, f func(t *testing.T, b *bubble), opts ...zktest.Option) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) { f(t, &bubble{t, zktest.NewServer(t, opts...), "/lock"}) })
}

// session connects from a place of that name.
func (b *bubble) session(place string, opts ...zklock.SessionOption) *zklock.Session {
	b.t.Helper()
	s, err := zklock.Connect(b.t.Context(), []string{b.server.PipeAddr()}, longSession,
		append(opts, zklock.WithDialer(b.server.Client(place).Dial))...)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { s.Close() })
	return s
}

func (b *bubble) locker(s *zklock.Session, opts ...zklock.Option) *zklock.Locker {
	b.t.Helper()
	l, err := zklock.New(s, b.path, opts...)
	require.NoError(b.t, err)
	return l
}

// queue returns how many lock nodes there are.
func (b *bubble) queue() int { return len(b.server.Children(b.path)) }

// grant is a hold, or an error, of one who asked for the lock.
type grant struct {
	who string
	*zklock.Hold
	err error
}

// ask has one more goroutine acquire the lock, and returns when it waits for it or has it.
func (b *bubble) ask(ctx context.Context, who string, l *zklock.Locker, granted chan<- grant) {
	go func() {
		h, err := l.Acquire(ctx)
		granted <- grant{who, h, err}
	}()
	synctest.Wait()
}

// next returns what was granted, which must be one hold.
func (b *bubble) next(granted <-chan grant) grant {
	b.t.Helper()
	synctest.Wait()
	require.Len(b.t, granted, 1, "one at a time")
	g := <-granted
	require.NoError(b.t, g.err)
	require.NoError(b.t, g.Hold.Err())
	return g
}

func TestAnOwnerThatAskedForItsTokenOrCheckKeepsItsNode(t *testing.T) {
	for name, ask := range map[string]func(*zklock.Hold){
		"Token": func(h *zklock.Hold) { h.Token() },
		"Check": func(h *zklock.Hold) { h.Check() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("cohort"), zklock.WithHandoff(10), zklock.WithRetention(time.Minute))
				granted := make(chan grant, 3)
				for range 3 {
					b.ask(t.Context(), "-", l, granted)
				}
				first := b.next(granted)
				require.NoError(t, first.Release(t.Context()))
				second := b.next(granted)
				require.Equal(t, first.Node(), second.Node())
				ask(second.Hold)
				require.NoError(t, second.Release(t.Context()))
				third := b.next(granted)
				require.NotEqual(t, second.Node(), third.Node())
				require.Greater(t, third.Token(), second.Token())
				require.NoError(t, third.Release(t.Context()))
				require.Zero(t, b.queue(), "nor is it retained")
			})
		})
	}
}

// A handle that was released must not vouch for its user's writes because another owner has the
// same node.
func TestAReleasedHandlesCheckNeverPasses(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("cohort")
		l := b.locker(s, zklock.WithHandoff(10))
		granted := make(chan grant, 2)
		b.ask(t.Context(), "-", l, granted)
		b.ask(t.Context(), "-", l, granted)
		old := b.next(granted)
		require.NoError(t, old.Release(t.Context()))
		owner := b.next(granted)
		_, err := s.Conn().Multi(old.Check(), &zk.CreateRequest{Path: "/stale", Acl: zk.WorldACL(zk.PermAll)})
		require.Error(t, err, "a stale user's write happened while another owner holds the lock")
		require.NoError(t, owner.Release(t.Context()))
	})
}
