package lock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

// sticky is a dialer on whose connections requests get stuck, so that others queue behind them
// inside of go-zookeeper.
type sticky struct {
	mu     sync.Mutex
	snares map[int32]*snare // by the operation that they are for
}

// snare is for the next request of an operation.
type snare struct {
	sent    bool          // it gets stuck when it has been sent, and not before
	caught  chan struct{} // closed when it is stuck
	release func()        // lets it go on; one that is not sent fails
	goOn    chan struct{} // closed by release
}

type stickyConn struct {
	net.Conn
	dialer *sticky
}

func (d *sticky) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	return stickyConn{conn, d}, err
}

func (d *sticky) set(t *testing.T, op int32, sent bool) *snare {
	s := &snare{sent: sent, caught: make(chan struct{}), goOn: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.goOn) })
	t.Cleanup(s.release) // of a test that fails, or nothing could be closed
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.snares == nil {
		d.snares = make(map[int32]*snare)
	}
	d.snares[op] = s
	return s
}

func (d *sticky) take(frame []byte) *snare {
	if len(frame) < 12 {
		return nil
	}
	op := int32(binary.BigEndian.Uint32(frame[8:]))
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.snares[op]
	delete(d.snares, op)
	return s
}

func (c stickyConn) Write(frame []byte) (n int, err error) {
	s := c.dialer.take(frame)
	if s == nil {
		return c.Conn.Write(frame)
	}
	if n, err = 0, errors.New("it was stuck for too long"); s.sent {
		n, err = c.Conn.Write(frame)
	}
	close(s.caught)
	<-s.goOn
	return n, err
}

// stalledConn is a connection whose send buffer is full for some of its frames.
type stalledConn struct {
	net.Conn
	full   func(frame []byte) bool
	closed context.Context
	close  context.CancelFunc
}

// stalling is dial with connections that are stalled for those frames, until they are closed.
func stalling(dial zk.Dialer, full func(frame []byte) bool) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		closed, end := context.WithCancel(context.Background())
		return &stalledConn{conn, full, closed, end}, nil
	}
}

func (c *stalledConn) Write(frame []byte) (int, error) {
	if c.full(frame) {
		<-c.closed.Done()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(frame)
}

func (c *stalledConn) Close() error {
	c.close()
	return c.Conn.Close()
}

// isOf reports whether a frame is a request of that operation.
func isOf(frame []byte, op zktest.Op) bool {
	return len(frame) >= 12 && zktest.Op(binary.BigEndian.Uint32(frame[8:])) == op
}

// Where a goroutine is that waits for the answer to a request of go-zookeeper's.
const (
	create   = "github.com/go-zookeeper/zk.(*Conn).Create"
	exists   = "github.com/go-zookeeper/zk.(*Conn).Exists"
	children = "github.com/go-zookeeper/zk.(*Conn).Children"
)

// awaitRequests waits until n goroutines wait in such a function, for which they have to have
// put their request in the client's queue.
func awaitRequests(t *testing.T, function string, n int) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	eventually(t, "the request to be queued", func() bool {
		inside, waiting := 0, 0
		for goroutine := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			state, frames, _ := strings.Cut(goroutine, "\n")
			if !strings.Contains("\n"+frames, "\n"+function+"(") {
				continue
			}
			inside++
			if strings.Contains(state, "[select") || strings.Contains(state, "[chan receive") {
				waiting++
			}
		}
		return inside == n && waiting == n
	})
}

// The session ends after the create of the lock node and before the list, which is executed in
// the next session then, and shows a queue with nobody ahead.
func TestASessionThatEndsBetweenCreateAndListGivesNoFalseHold(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	d := new(sticky)
	s := at.sessionVia(at.proxy.Addr(), longSession, zklock.WithDialer(d.dial))
	l := at.locker(s)
	for round := range 40 {
		id := s.ID()
		created, between := d.set(t, faultproxy.OpCreate, true), d.set(t, faultproxy.OpExists, false)
		reply := at.proxy.HoldReply(faultproxy.OpCreate)
		got := at.begin(l.Acquire)
		receive(t, created.caught, "the create")
		receive(t, reply.Arrived(), "the node")
		ended := begin(func() error { _, _, err := s.Conn().Exists("/"); return err })
		awaitRequests(t, exists, 1)
		created.release()
		receive(t, between.caught, "the request in front of the list")
		awaitRequests(t, children, 1)
		reply.Release()
		awaitRequests(t, create, 0)
		at.kill(s)
		between.release()

		require.Error(t, receive(t, ended, "the request in front of the list"))
		h := receive(t, got, "the lock")
		at.requireHeld(h, s)
		require.NotEqual(t, id, s.ID())
		require.NoError(t, h.Release(t.Context()))
		require.Equal(t, 4*(round+1), at.childWrites(), "the first node went with its session")
	}
}

// go-zookeeper replaces an expired session without telling its callers, and sends to the new
// one what was queued for the old one.
func TestACreateThatIsExecutedInTheNextSessionLeavesNoNode(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	d := new(sticky)
	s := at.sessionVia(at.proxy.Addr(), longSession, zklock.WithDialer(d.dial))
	id := s.ID()
	stuck := d.set(t, faultproxy.OpCreate, false)
	first := at.acquire(s)
	receive(t, stuck.caught, "the first create")
	second := at.acquire(s)
	awaitRequests(t, create, 2)
	at.kill(s)
	stuck.release()

	for range 2 {
		var h *zklock.Hold
		select {
		case h = <-first:
		case h = <-second:
		case <-time.After(patience):
			require.FailNow(t, "waited in vain for the lock")
		}
		at.requireHeld(h, s)
		require.NotEqual(t, id, s.ID())
		require.NoError(t, h.Release(t.Context()))
	}
	at.awaitQueue(0)
	require.Equal(t, 6, at.childWrites(), "the node of the create that came too late went at once")
}
