package zklock_test

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
)

// stuckDialer makes connections on which a request gets stuck before it is sent.
type stuckDialer struct {
	mu      sync.Mutex
	op      int32         // of the next request to get stuck; 0: none
	stuck   chan struct{} // closed when it is
	release chan struct{} // closed when it shall fail
}

type stuckConn struct {
	net.Conn
	dialer *stuckDialer
}

func (d *stuckDialer) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	return stuckConn{conn, d}, err
}

// stick makes the next request of that operation get stuck, until fail is called.
func (d *stuckDialer) stick(op int32) (stuck <-chan struct{}, fail func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.op, d.stuck, d.release = op, make(chan struct{}), make(chan struct{})
	return d.stuck, sync.OnceFunc(func() { close(d.release) })
}

func (d *stuckDialer) sticks(frame []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(frame) < 12 || d.op == 0 || int32(binary.BigEndian.Uint32(frame[8:])) != d.op {
		return false
	}
	d.op = 0
	close(d.stuck)
	return true
}

func (c stuckConn) Write(frame []byte) (int, error) {
	if c.dialer.sticks(frame) {
		<-c.dialer.release
		return 0, errors.New("it was stuck for too long")
	}
	return c.Conn.Write(frame)
}

// goroutinesIn returns how many goroutines are inside a function.
func goroutinesIn(function string) int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "\n"+function+"(")
}

// go-zookeeper replaces an expired session without telling its callers, and sends
// to the new one what was queued for the old one.
func TestACreateThatIsExecutedInTheNextSessionLeavesNoNode(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	var d stuckDialer
	s := at.sessionVia(at.proxy.Addr(), longSession, zklock.WithDialer(d.dial))
	old := s.ID()
	stuck, fail := d.stick(faultproxy.OpCreate)
	defer fail()
	first := at.acquire(s)
	receive(t, stuck, "the first create to get stuck")
	second := at.acquire(s)
	eventually(t, "the second create to be queued behind", func() bool {
		return goroutinesIn("github.com/go-zookeeper/zk.(*Conn).Create") == 2
	})
	at.kill(s)
	fail()

	for range 2 {
		var h *zklock.Hold
		select {
		case h = <-first:
		case h = <-second:
		case <-time.After(patience):
			require.FailNow(t, "waited in vain for the lock")
		}
		at.requireHeld(h, s)
		require.NotEqual(t, old, s.ID())
		require.NoError(t, h.Release(t.Context()))
	}
	at.awaitQueue(0)
	require.Equal(t, 6, at.childWrites(), "the node of a create that came too late went at once")
}
