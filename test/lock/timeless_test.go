package lock_test

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// timeless is a connection without deadlines, as those of a tunnel are. Some say so.
type timeless struct {
	net.Conn
	says error
}

func (c timeless) SetDeadline(time.Time) error      { return c.says }
func (c timeless) SetReadDeadline(time.Time) error  { return c.says }
func (c timeless) SetWriteDeadline(time.Time) error { return c.says }

// secureTunnel is a way to a server, in TLS and without deadlines.
type secureTunnel struct {
	server *zktest.Server
	config *tls.Config
	clog   atomic.Bool   // the first connection passes on no more than what comes next
	first  atomic.Bool   // it was made
	over   chan struct{} // closed when it ends
}

func (w *secureTunnel) dial(network, addr string, limit time.Duration) (net.Conn, error) {
	far, err := w.server.Dial(network, addr, limit)
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	near, first := tls.Server(theirs, w.config), !w.first.Swap(true)
	go func() {
		defer ours.Close()
		_, _ = io.Copy(near, far)
	}()
	go func() {
		defer far.Close()
		frame := make([]byte, 4096)
		for {
			n, err := near.Read(frame)
			if err != nil {
				return
			}
			if first && w.clog.Load() {
				<-w.over
				return
			}
			if _, err := far.Write(frame[:n]); err != nil {
				return
			}
		}
	}()
	return timeless{ours, nil}, nil
}

// A farewell by TLS would wait for whoever does not read any more.
func TestAHoldOutlivesATunnelThatHangs(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		a := newAuthority(t, "ours")
		pair, err := tls.X509KeyPair(a.pair("server"))
		require.NoError(t, err)
		server := zktest.NewServer(t)
		way := &secureTunnel{server: server, config: &tls.Config{Certificates: []tls.Certificate{pair}}, over: make(chan struct{})}
		config := a.client("ann")
		config.ServerName = "127.0.0.1"
		s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, longSession, zklock.WithDialer(way.dial), zklock.WithTLS(config))
		require.NoError(t, err)
		defer s.Close()
		defer close(way.over)
		l, err := zklock.New(s, "/lock")
		require.NoError(t, err)
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		time.Sleep(longSession * 7 / 20) // a ping has just been sent, and is not what waits next
		way.clog.Store(true)
		time.Sleep(2 * longSession)
		require.NoError(t, h.Err())
		require.NoError(t, h.Release(t.Context()))
	})
}
