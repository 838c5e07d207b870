package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// Granting returns conn, over which a ZooKeeper client has yet to connect, with the session timeout
// that its server grants by its own clock as granted says that it is.
func Granting(conn net.Conn, granted func(time.Duration) time.Duration) net.Conn {
	return &granting{Conn: conn, granted: granted}
}

type granting struct {
	net.Conn
	granted func(time.Duration) time.Duration
	answer  io.Reader // to the connect request
}

func (c *granting) Read(p []byte) (int, error) {
	if c.answer == nil {
		frame, err := c.connectResponse()
		if err != nil {
			return 0, err
		}
		c.answer = bytes.NewReader(frame)
	}
	if n, err := c.answer.Read(p); err == nil {
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *granting) connectResponse() (frame []byte, err error) {
	const length, timeoutAt = 4, 4 + 4 // behind the protocol's version
	frame = make([]byte, length)
	if _, err = io.ReadFull(c.Conn, frame); err != nil {
		return nil, err
	}
	frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
	if _, err = io.ReadFull(c.Conn, frame[length:]); err != nil {
		return nil, err
	}
	timeout := time.Duration(binary.BigEndian.Uint32(frame[timeoutAt:])) * time.Millisecond
	binary.BigEndian.PutUint32(frame[timeoutAt:], uint32(c.granted(timeout).Milliseconds()))
	return frame, nil
}
