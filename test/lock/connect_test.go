package lock_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// unreachable are the ways in which Connect finds no session.
var unreachable = map[string]func(b *bubble) []zklock.SessionOption{
	"refused": func(b *bubble) []zklock.SessionOption {
		b.server.Refuse(true)
		return []zklock.SessionOption{zklock.WithDialer(b.server.Dial)}
	},
	"refused, with credentials": func(b *bubble) []zklock.SessionOption {
		b.server.Refuse(true)
		return []zklock.SessionOption{zklock.WithDialer(b.server.Dial), login("ann"), login("bob")}
	},
	"refused, by a provider that wants a pause": func(b *bubble) []zklock.SessionOption {
		b.server.Refuse(true)
		return []zklock.SessionOption{zklock.WithDialer(b.server.Dial), zklock.WithHostProvider(new(slowHosts))}
	},
	"no answer to the handshake": func(b *bubble) []zklock.SessionOption {
		return []zklock.SessionOption{zklock.WithDialer(dialNobody)}
	},
	"a handshake that cannot be sent": func(b *bubble) []zklock.SessionOption {
		w := &wire{dial: b.server.Dial}
		w.stall()
		return []zklock.SessionOption{zklock.WithDialer(w.connect)}
	},
	"no answer to the login": func(b *bubble) []zklock.SessionOption {
		b.server.HoldReply(zktest.OpAuth)
		return []zklock.SessionOption{zklock.WithDialer(b.server.Dial), login("ann")}
	},
	"a login that cannot be sent": func(b *bubble) []zklock.SessionOption {
		w := &wire{dial: b.server.Dial}
		w.arm(1, w.stall)
		return []zklock.SessionOption{zklock.WithDialer(w.connect), login("ann")}
	},
	"cut off while it logs in": func(b *bubble) []zklock.SessionOption {
		w := &wire{dial: b.server.Dial}
		w.arm(1, func() {
			b.server.Refuse(true)
			b.server.Cut()
		})
		return []zklock.SessionOption{zklock.WithDialer(w.connect), login("ann"), login("bob")}
	},
	"cut off again and again": func(b *bubble) []zklock.SessionOption {
		return []zklock.SessionOption{zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := b.server.Dial(network, address, timeout)
			if err == nil {
				conn.Close()
			}
			return conn, err
		})}
	},
}

// dialNobody makes a connection to a server that reads and never answers.
func dialNobody(string, string, time.Duration) (net.Conn, error) {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	return near, nil
}

// slowHosts asks the client to pause ahead of each dial, as zk.DNSHostProvider does ahead of
// each round.
type slowHosts struct{ addr string }

func (h *slowHosts) Init(addrs []string) error { h.addr = addrs[0]; return nil }
func (h *slowHosts) Len() int                  { return 1 }
func (h *slowHosts) Connected()                {}
func (h *slowHosts) Next() (string, bool)      { return h.addr, true }

func TestConnectReturnsWhenItsContextEndsAndLeavesNothing(t *testing.T) {
	for name, obstacle := range unreachable {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				for range often(300) {
					b.server.Refuse(false)
					options := obstacle(b)
					limit := time.Duration(1+rand.IntN(300)) * 7 * time.Millisecond
					requirePrompt(t, limit, func(ctx context.Context) error {
						_, err := zklock.Connect(ctx, []string{b.server.PipeAddr()}, longSession, options...)
						return err
					})
				}
			})
		})
	}
}

// requirePrompt checks that connect fails at the very end of its ctx.
func requirePrompt(t *testing.T, limit time.Duration, connect func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	require.ErrorIs(t, connect(ctx), context.DeadlineExceeded)
	require.Equal(t, limit, time.Since(began))
	synctest.Wait()
}

// Only a dialer of the user's own, which knows no context, is waited for.
func TestConnectWaitsForADialerThatIsUnderWayAndForNothingElse(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var dialling atomic.Int32
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := zklock.Connect(ctx, []string{b.server.PipeAddr()}, longSession,
			zklock.WithDialer(func(_, _ string, timeout time.Duration) (net.Conn, error) {
				dialling.Add(1)
				defer dialling.Add(-1)
				time.Sleep(timeout)
				return nil, os.ErrDeadlineExceeded
			}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, dialling.Load())
		require.Equal(t, time.Second, time.Since(began))
	})
}

// dialTooLate returns the error of the net package's dialer when its time is up.
func dialTooLate() error {
	_, err := net.DialTimeout("tcp", "127.0.0.1:1", time.Nanosecond)
	return err
}

// hosts are servers that are tried in their order.
type hosts struct {
	addrs []string
	next  int
}

func (h *hosts) Init([]string) error { return nil }
func (h *hosts) Len() int            { return len(h.addrs) }
func (h *hosts) Connected()          {}

func (h *hosts) Next() (string, bool) {
	addr := h.addrs[h.next%len(h.addrs)]
	h.next++
	return addr, false
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
