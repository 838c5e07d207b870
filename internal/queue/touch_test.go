package queue

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/zktest"
)

// The handshake touches the leader itself, whatever had been relayed over the connection before.
func TestALeaseRestsOnTheHandshakeOfANewConnectionAtOnce(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		h := hold(t, s)
		time.Sleep(2 * reconnectTimeout)
		server.Refuse(true)
		server.Cut()
		time.Sleep(reconnectTimeout / 4)
		server.Refuse(false)
		_, err := s.await(t.Context())
		require.NoError(t, err)
		synctest.Wait() // the first proof is answered
		require.Equal(t, reconnectTimeout*19/20, s.leaseLeft(), "a new connection's first proof counts by a touch of the one before")
		require.NoError(t, h.Err())
	})
}

// tardy is a connection whose writes return late: the server has what they bring by then.
type tardy struct {
	net.Conn
	by *atomic.Int64
}

func (c tardy) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	time.Sleep(time.Duration(c.by.Load()))
	return n, err
}

func TestATouchCountsFromWhenItsRequestMayHaveBeenWithTheServer(t *testing.T) {
	const late = reconnectTimeout / 16
	var by atomic.Int64
	wrap := func(_ int32, conn net.Conn) net.Conn { return tardy{conn, &by} }
	reconnecting(t, wrap, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		time.Sleep(reconnectTimeout * 3 / 8) // the ping of a third is the touch before
		held := server.HoldReply(zktest.OpGetData)
		asked := time.Now()
		by.Store(int64(late))
		go s.client.Conn.Get("/")
		<-held.Struck()
		time.Sleep(2 * late)
		by.Store(0)
		held.Release()
		time.Sleep(reconnectTimeout * 5 / 16) // until the touch is sure to have reached the leader
		h := hold(t, s)
		require.Equal(t, reconnectTimeout*19/20-time.Since(asked), s.leaseLeft(), "the lease rests on when the write had returned")
		require.NoError(t, h.Err())
	})
}
