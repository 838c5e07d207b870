package lock_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// plug is a way to a server that can be stopped up: what is written fills the socket's buffers,
// and then writes block.
type plug struct {
	addr string
	mu   sync.Mutex // held while it is stopped up
}

func (p *plug) dial(network, _ string, timeout time.Duration) (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	server, err := net.DialTimeout(network, p.addr, timeout)
	if err != nil {
		return nil, err
	}
	go func() {
		defer ours.Close()
		_, _ = io.Copy(theirs, server)
	}()
	go func() {
		defer server.Close()
		defer theirs.Close()
		buf := make([]byte, 4096)
		for {
			n, err := theirs.Read(buf)
			p.mu.Lock()
			_, failed := server.Write(buf[:n])
			p.mu.Unlock()
			if err != nil || failed != nil {
				return
			}
		}
	}()
	return ours, nil
}

// socketPair returns the ends of a TCP connection with small buffers.
func socketPair() (near, far net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if far, err = l.Accept(); err != nil {
		return nil, nil, err
	}
	return near, far, near.(*net.TCPConn).SetWriteBuffer(4096)
}

// fill has requests of the user's own fill the buffers. They end with the session.
func fill(s *zklock.Session) {
	for range 16 {
		go func() { _, _ = s.Conn().Set("/none", make([]byte, 1<<20-1<<10), -1) }()
	}
}

// The session's timeout is so long that nothing else ends a write that is stuck.
func TestAMultiLockersWayOutDoesNotWaitForAStalledSocket(t *testing.T) {
	for name, take := range map[string]func(*zklock.MultiLocker, context.Context) error{
		"LockContext": (*zklock.MultiLocker).LockContext,
		"TryLockFor": func(m *zklock.MultiLocker, ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			_, err := m.TryLockFor(context.Background(), time.Until(deadline))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithSessionTimeouts(time.Second, time.Hour))
			way := &plug{addr: server.Addr()}
			connect := func(opts ...zklock.SessionOption) *zklock.Session {
				s, err := zklock.Connect(t.Context(), []string{server.Addr()}, time.Minute, opts...)
				require.NoError(t, err)
				t.Cleanup(func() { s.Close() })
				return s
			}
			mine, theirs := connect(zklock.WithDialer(way.dial)), connect()
			var parts []*zklock.Locker
			for _, path := range []string{"/a", "/b", "/c"} {
				parts = append(parts, must(zklock.New(mine, path)))
			}
			must(zklock.New(theirs, "/c")).Lock()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			limit, stop := context.WithTimeout(ctx, 500*time.Millisecond)
			defer stop()
			ended := begin(func() error { return take(must(zklock.NewMulti(parts...)), limit) })
			eventually(t, "the place behind the others", func() bool { return len(server.Children("/c")) == 2 })
			way.mu.Lock()
			fill(mine)
			<-limit.Done()
			over := time.Now()
			receive(t, ended, "the call")
			require.Less(t, time.Since(over), prompt)
			way.mu.Unlock()
		})
	}
}
