package lock_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

func TestTheSessionKnowsWhatTheServerNegotiated(t *testing.T) {
	at := newSite(t)
	const least, most = 400 * time.Millisecond, 10 * time.Minute // the server's limits
	for asked, got := range map[time.Duration]time.Duration{
		time.Millisecond: least, 5 * time.Second: 5 * time.Second, time.Hour: most,
	} {
		s := at.sessionVia(at.addr, asked)
		require.Equal(t, got, s.Timeout())
		require.Equal(t, s.Conn().SessionID(), s.ID())
		require.NotZero(t, s.ID())
	}
}

func TestANewSessionTakesThePlaceOfAnExpiredOne(t *testing.T) {
	at := newSite(t)
	s := at.session()
	first := s.ID()
	at.kill(s)
	l := at.locker(s)
	require.NoError(t, l.LockContext(within(t, patience)))
	require.NotEqual(t, first, s.ID())
	at.requireHeld(l.Held(), s)
	require.False(t, isClosed(s.Closed()))
}

func TestConnectPassesOverServersThatDoNotServe(t *testing.T) {
	refusing, hanging := listen(t), listen(t)
	refusing.Close()
	at := newSite(t)
	began := time.Now()
	s := at.sessionVia("named-by-the-provider:2181", 2*time.Second,
		zklock.WithHostProvider(&hosts{addrs: []string{refusing.Addr().String(), hanging.Addr().String(), at.addr}}))
	require.Less(t, time.Since(began), s.Timeout()+prompt)
	require.NoError(t, s.Close())
}

func TestCloseWithoutAConnectionSaysThatNodesMayStay(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	at.proxy.Refuse(true)
	at.proxy.Cut()
	eventually(t, "the session to notice", func() bool { return s.Conn().State() != zk.StateHasSession })
	began := time.Now()
	err := s.Close()
	require.Less(t, time.Since(began), prompt)
	require.ErrorContains(t, err, "may stay for its timeout of 20s")
	require.Equal(t, err, s.Close())
	require.True(t, isClosed(l.Lost()))
	l.Unlock()
}

func TestCloseDoesNotWaitForAServerThatHangs(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	at.proxy.Freeze(faultproxy.Both)
	began := time.Now()
	require.Error(t, s.Close())
	require.Less(t, time.Since(began), prompt)
	l.Unlock()
}

func TestASessionSpeaksTLS(t *testing.T) {
	at := newSite(t)
	config, trusting := certificate(t)
	front := terminateTLS(t, at.addr, config)

	s, err := zklock.Connect(within(t, patience), []string{front}, longSession, zklock.WithTLS(trusting))
	require.NoError(t, err)
	defer s.Close()
	l := at.locker(s)
	require.NoError(t, l.LockContext(within(t, patience)))
	at.requireHeld(l.Held(), s)
	l.Unlock()

	unvouched := func(err error) bool { return strings.Contains(err.Error(), "certificate") }
	givenTime(t, unvouched, func(ctx context.Context) error {
		_, err := zklock.Connect(ctx, []string{front}, longSession, zklock.WithTLS(new(tls.Config)))
		return err
	})
}

// certificate returns how to serve TLS on 127.0.0.1, and how to trust that.
func certificate(t *testing.T) (serving, trusting *tls.Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server.TLS.Clone(), &tls.Config{RootCAs: roots}
}

// terminateTLS serves TLS in front of a server that does not.
func terminateTLS(t *testing.T, addr string, config *tls.Config) (front string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { join(client, addr) })
		}
	})
	return listener.Addr().String()
}

func join(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	_, _ = io.Copy(server, client)
	server.Close()
	back.Wait()
}

func TestASessionUsesItsDialerItsHostsAndItsLogger(t *testing.T) {
	at := newSite(t)
	var (
		dials atomic.Int32
		log   lockedBuffer
	)
	s := at.sessionVia("named-by-the-provider:2181", longSession,
		zklock.WithHostProvider(&hosts{addrs: []string{at.proxy.Addr()}}),
		zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			dials.Add(1)
			return net.DialTimeout(network, address, timeout)
		}),
		zklock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	l := at.locker(s)
	l.Lock()
	at.kill(s)
	receive(t, l.Lost(), "the loss")
	require.Greater(t, dials.Load(), int32(1))
	require.NoError(t, s.Close())
	for _, says := range []string{"session established", "session expired", "lock lost"} {
		require.Contains(t, log.String(), says)
	}
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

// The credentials are the last that Connect waits for, and closing the connection would wait
// for an answer too.
func TestConnectEndsWithItsContextWhileItLogsIn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		const limit = time.Second
		b.server.HoldReply(zktest.OpAuth)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		began := time.Now()
		_, err := zklock.Connect(ctx, []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(b.server.Dial), login("ann"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.InDelta(t, limit, time.Since(began), float64(limit/100))
	})
}

// A dial and its TLS handshake have an eighth of the session timeout at first.
func TestAServerThatIsSlowToReachIsReachedInTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		const limit, slow = 2 * time.Second, 260 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 10*limit)
		defer cancel()
		s, err := zklock.Connect(ctx, []string{b.server.PipeAddr()}, limit,
			zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				time.Sleep(min(timeout, slow))
				if timeout < slow {
					return nil, os.ErrDeadlineExceeded
				}
				return b.server.Dial(network, address, timeout)
			}))
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
}

func TestADialerHasASecondAtMost(t *testing.T) {
	server := zktest.NewServer(t, zktest.WithSessionTimeouts(time.Second, time.Hour))
	var given atomic.Int64
	dial := func(network, address string, limit time.Duration) (net.Conn, error) {
		given.Store(int64(limit))
		return server.Dial(network, address, limit)
	}
	s, err := zklock.Connect(within(t, patience), []string{server.PipeAddr()}, time.Hour, zklock.WithDialer(dial))
	require.NoError(t, err)
	defer s.Close()
	require.LessOrEqual(t, time.Duration(given.Load()), time.Second)
}
