package faultproxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what has to happen; only a failing one
// waits that long.
const patience = time.Minute

// serve accepts connections for the duration of a test and passes them on.
func serve(t *testing.T) (addr string, accepted <-chan *peer) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	peers := make(chan *peer, 16)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			peers <- &peer{t, conn}
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
		close(peers)
		for p := range peers {
			p.conn.Close()
		}
	})
	return listener.Addr().String(), peers
}

// peer is an end of a connection, with the assertions that tests make on it.
type peer struct {
	t    *testing.T
	conn net.Conn
}

func dial(t *testing.T, p *Proxy) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &peer{t, conn}
}

// pair is a connection through the proxy, seen from both ends.
func pair(t *testing.T, p *Proxy, accepted <-chan *peer) (client, server *peer) {
	t.Helper()
	client = dial(t, p)
	select {
	case server = <-accepted:
	case <-time.After(patience):
		t.Fatal("the proxy did not connect to its target")
	}
	t.Cleanup(func() { server.conn.Close() })
	return client, server
}

func (p *peer) send(bytes string) {
	p.t.Helper()
	_, err := io.WriteString(p.conn, bytes)
	require.NoError(p.t, err)
}

func (p *peer) expect(bytes string) {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetReadDeadline(time.Now().Add(patience)))
	got := make([]byte, len(bytes))
	_, err := io.ReadFull(p.conn, got)
	require.NoError(p.t, err)
	require.Equal(p.t, bytes, string(got))
}

// expectEnd returns the error that ends the stream, nil for a clean end.
func (p *peer) expectEnd() error {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetReadDeadline(time.Now().Add(patience)))
	n, err := io.Copy(io.Discard, p.conn)
	require.Zero(p.t, n, "bytes before the end")
	require.NotErrorIs(p.t, err, os.ErrDeadlineExceeded)
	return err
}

// expectSilence can only show that nothing comes for a moment: a fault that
// does not hold lets the test fail most of the time, one that holds never.
func (p *peer) expectSilence() {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	n, err := p.conn.Read(make([]byte, 1))
	require.Zero(p.t, n)
	require.ErrorIs(p.t, err, os.ErrDeadlineExceeded)
}

// closed reports whether the stream ended by a close or by a reset.
func closed(err error) bool {
	return err == nil || errors.Is(err, net.ErrClosed) || isReset(err)
}

func (p *peer) sendFrame(fields ...int32) { p.t.Helper(); p.send(frame(fields...)) }

func (p *peer) expectFrame(fields ...int32) { p.t.Helper(); p.expect(frame(fields...)) }

// frame encodes the fields with their length before them.
func frame(fields ...int32) string {
	encoded := binary.BigEndian.AppendUint32(nil, uint32(4*len(fields)))
	for _, field := range fields {
		encoded = binary.BigEndian.AppendUint32(encoded, uint32(field))
	}
	return string(encoded)
}

func requireClosed(t *testing.T, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatal("it did not happen")
	}
}

func requireOpen(t *testing.T, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
		t.Fatal("it happened too early")
	default:
	}
}
