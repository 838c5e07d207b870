package lock_test

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/zktest"
)

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
