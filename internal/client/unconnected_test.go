package client

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
)

// unconnected returns a client without go-zookeeper, for calls of what that calls. Its dialer's
// connections are scripted.
func unconnected(t *testing.T, logger *slog.Logger) *Client {
	t.Helper()
	dial := func(string, string, time.Duration) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		return &scripted{Conn: ours}, nil
	}
	c := New(10*time.Second, new(clock.Clock), Options{Logger: logger, Hosts: wire.NewHosts(), Dialer: dial})
	c.Observe(nobody{})
	t.Cleanup(func() { c.cancel(context.Canceled) })
	return c
}

// scripted is a connection that takes all that is written, and reads as it was told.
type scripted struct {
	net.Conn
	mu   sync.Mutex
	says []byte
	then error
}

func (c *scripted) Write(p []byte) (int, error) { return len(p), nil }

func (c *scripted) Read(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n = copy(p, c.says); n == 0 {
		return 0, c.then
	}
	c.says = c.says[n:]
	return n, nil
}

// connectedTo returns a connection of c that carries a ZooKeeper session, and ends with err
// when it is read.
func (c *Client) connectedTo(t *testing.T, err error) *wire.Link {
	t.Helper()
	return c.connectedIn(t, 1, err)
}

// connectedIn is connectedTo for that ZooKeeper session.
func (c *Client) connectedIn(t *testing.T, session int64, err error) *wire.Link {
	t.Helper()
	conn, dialed := c.dialer.Connect("tcp", "nowhere:2181", time.Second)
	require.NoError(t, dialed)
	l := conn.(*wire.Link)
	hello := make([]byte, 41)
	binary.BigEndian.PutUint32(hello, uint32(len(hello)-4))
	binary.BigEndian.PutUint32(hello[8:], 10_000)
	binary.BigEndian.PutUint64(hello[12:], uint64(session))
	script := l.Conn.(*scripted)
	script.says, script.then = hello, err
	_, wrote := l.Write(make([]byte, 48)) // the connect request
	require.NoError(t, wrote)
	_, read := l.Read(make([]byte, len(hello)))
	require.NoError(t, read)
	return l
}

// pass lets so much virtual time pass, and waits until all that was due is done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
