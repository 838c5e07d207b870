package lock_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// usersHosts is a host provider that calls a function of the user first.
type usersHosts struct {
	hosts
	init, next, size, connected func()
}

func (h *usersHosts) Init(servers []string) error { h.init(); return h.hosts.Init(servers) }
func (h *usersHosts) Next() (string, bool)        { h.next(); return h.hosts.Next() }
func (h *usersHosts) Len() int                    { h.size(); return h.hosts.Len() }
func (h *usersHosts) Connected()                  { h.connected(); h.hosts.Connected() }

// usersHandler is a slog.Handler that calls functions of the user.
type usersHandler struct {
	slog.Handler
	enabled, handle func()
}

func (h usersHandler) Enabled(context.Context, slog.Level) bool        { h.enabled(); return true }
func (h usersHandler) Handle(ctx context.Context, r slog.Record) error { h.handle(); return nil }

// background are the functions of the user that run on the session's goroutines, each in a
// session and a trace that calls it.
var background = []string{
	"dial", "next", "size", "connected", "enabled", "handle", "suspended", "resumed", "lost",
}

// around makes the options of a session, and a trace, that call f in one position.
func (b *bubble) around(position string, f func()) ([]zklock.SessionOption, *zklock.Trace) {
	at := func(p string) func() {
		if p == position {
			return f
		}
		return func() {}
	}
	told := func(p string) func(zklock.TraceInfo) { return func(zklock.TraceInfo) { at(p)() } }
	return []zklock.SessionOption{
		zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			at("dial")()
			return b.server.Dial(network, b.server.PipeAddr(), timeout)
		}),
		zklock.WithHostProvider(&usersHosts{hosts{addrs: []string{b.server.PipeAddr()}}, at("init"), at("next"), at("size"), at("connected")}),
		zklock.WithLogger(slog.New(usersHandler{slog.DiscardHandler, at("enabled"), at("handle")})),
	}, &zklock.Trace{Suspended: told("suspended"), Resumed: told("resumed"), Lost: told("lost")}
}

// throughLossAndReconnects uses a lock while connections and its session end.
func (b *bubble) throughLossAndReconnects(f func(), position string) {
	opts, trace := b.around(position, f)
	s, err := zklock.Connect(b.t.Context(), []string{b.server.PipeAddr()}, longSession, opts...)
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, s.Close()) }()
	l := b.locker(s, zklock.WithTrace(trace))
	for range 3 {
		l.Lock()
		for range 2 {
			b.server.Cut()
			time.Sleep(longSession / 2)
			require.NoError(b.t, l.Held().Err())
		}
		l.Unlock()
		l.Lock()
		require.True(b.t, b.server.ExpireSession(s.ID()))
		<-l.Lost()
		l.Unlock()
	}
	l.Lock()
	l.Unlock() //lint:ignore SA2001 it is free
	time.Sleep(time.Second)
	require.Empty(b.t, b.ephemerals())
}

// A panic there is the program's, and no library's to swallow.
func TestAPanicOnTheSessionsGoroutinesEndsTheProcess(t *testing.T) {
	const child = "ZKLOCK_TEST_PANIC"
	if position := os.Getenv(child); position != "" {
		inBubble(t, func(_ *testing.T, b *bubble) {
			b.throughLossAndReconnects(func() { panic(errUsers) }, position)
		})
		return
	}
	self := "^" + t.Name() + "$"
	for _, position := range background {
		t.Run(position, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", self)
			cmd.Env = append(os.Environ(), child+"="+position)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "panic: "+errUsers.Error())
		})
	}
}

func TestConnectLeavesNothingBehindAHostProviderThatDoesNotReturn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		opts, _ := b.around("init", func() { panic(errUsers) })
		elsewhere(func() {
			defer func() { _ = recover() }()
			s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, opts...)
			assert.Fail(t, "a panic is not swallowed", "%v, %v", s, err)
		})
	})
}
