package lock_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// lateHosts is a provider of one server whose Connected is the test's.
type lateHosts struct {
	server    string
	connected func()
}

func (h *lateHosts) Init([]string) error  { return nil }
func (h *lateHosts) Len() int             { return 1 }
func (h *lateHosts) Next() (string, bool) { return h.server, false }
func (h *lateHosts) Connected()           { h.connected() }

// A client that is closed asks for no watches any more, or does: that is left to chance. So it
// is tried often.
func TestCloseRightBehindAReconnectIsHeard(t *testing.T) {
	for range 20 {
		inBubble(t, func(t *testing.T, b *bubble) {
			hosts := &lateHosts{b.server.PipeAddr(), func() {}}
			s := must(zklock.Connect(t.Context(), []string{hosts.server}, longSession,
				zklock.WithDialer(b.server.Dial), zklock.WithHostProvider(hosts)))
			_, _, _, err := s.Conn().ExistsW("/watched")
			require.NoError(t, err)
			synctest.Wait()
			up := make(chan struct{})
			hosts.connected = func() {
				close(up)
				time.Sleep(time.Millisecond)
			}
			b.server.Cut()
			<-up
			began := time.Now()
			require.NoError(t, s.Close())
			require.Less(t, time.Since(began), 100*time.Millisecond, "not after a wait for watches that nobody asks for")
		})
	}
}

// As a handler of signals and a defer do. A bubble's clock goes on only while all of it wait for
// what is in the bubble.
func TestASecondCloseWaitsForTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		b.server.Client("here").Delay(zktest.ToServer, time.Millisecond, time.Millisecond)
		began := time.Now()
		var closes sync.WaitGroup
		for range 3 {
			closes.Go(func() {
				require.NoError(t, s.Close())
				require.Equal(t, time.Millisecond, time.Since(began))
			})
		}
		closes.Wait()
	})
}

// Many functions that are quick by themselves may have one lock of the user's in common.
func TestCloseIsHeardThoughFunctionsOfTracesTakeTheirTime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		told := make(chan struct{}, 1)
		l := b.locker(s, zklock.WithTrace(&zklock.Trace{Suspended: func(zklock.TraceInfo) {
			time.Sleep(3 * time.Second)
			told <- struct{}{}
		}}))
		_, err := l.Acquire(t.Context())
		require.NoError(t, err)
		b.server.CutSession(s.ID())
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, s.Ping(t.Context()))
		require.NoError(t, s.Close())
		require.Zero(t, b.queue())
		require.Len(t, told, 1, "Close waits for it, too")
	})
}

// slowEnd is a connection whose first Close takes its time when all below is closed, as one that writes
// a record does. Another Close returns at once.
type slowEnd struct {
	net.Conn
	begun, over *atomic.Int32
	once        atomic.Bool
}

func (c *slowEnd) Close() error {
	if c.once.Swap(true) {
		return net.ErrClosed
	}
	c.begun.Add(1)
	err := c.Conn.Close()
	time.Sleep(longSession / 8)
	c.over.Add(1)
	return err
}

func TestCloseWaitsForTheCloseOfEachConnectionAndAReconnectDoesNot(t *testing.T) {
	for cuts := range 3 {
		inBubble(t, func(t *testing.T, b *bubble) {
			var begun, over atomic.Int32
			s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(
				func(network, address string, timeout time.Duration) (net.Conn, error) {
					conn, err := b.server.Dial(network, address, timeout)
					return &slowEnd{Conn: conn, begun: &begun, over: &over}, err
				})))
			for range cuts {
				require.NoError(t, s.Ping(t.Context()))
				b.server.Cut()
				asked := time.Now()
				require.NoError(t, s.Ping(t.Context()))
				require.Less(t, time.Since(asked), longSession/8)
			}
			require.NoError(t, s.Close())
			require.EqualValues(t, cuts+1, begun.Load())
			require.Equal(t, begun.Load(), over.Load())
		})
	}
}
