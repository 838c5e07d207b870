package rig

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// counter is a proxy for one server.
type counter struct {
	traffic  *Traffic
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil when closed
}

func (t *Traffic) proxy(target string) (*counter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	c := &counter{traffic: t, target: target, listener: listener, conns: make(map[net.Conn]struct{})}
	c.running.Go(c.accept)
	return c, nil
}

func (c *counter) addr() string { return c.listener.Addr().String() }

func (c *counter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil {
			client.Close()
			continue
		}
		if c.adopt(client) && c.adopt(server) {
			t := &talk{Traffic: c.traffic}
			c.running.Go(func() { c.forward(server, client, t.request) })
			c.running.Go(func() { c.forward(client, server, t.reply) })
		}
	}
}

// adopt closes conn at once if the proxy is closed.
func (c *counter) adopt(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		conn.Close()
		return false
	}
	c.conns[conn] = struct{}{}
	return true
}

// forward passes frames on until either connection ends.
func (c *counter) forward(dst, src net.Conn, count func(frame []byte)) {
	defer c.drop(dst, src)
	var buffer []byte
	for first := true; ; first = false {
		var err error
		if buffer, err = readFrame(src, buffer); err != nil {
			return
		}
		if !first { // a handshake is no request
			count(buffer[4:])
		}
		if _, err := dst.Write(buffer); err != nil {
			return
		}
	}
}

// readFrame returns a frame with its length, in buffer if that is big enough.
func readFrame(src io.Reader, buffer []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(src, length[:]); err != nil {
		return nil, err
	}
	const largest = 64 << 20
	n := 4 + int(binary.BigEndian.Uint32(length[:]))
	if n > largest {
		return nil, errors.New("rig: not a ZooKeeper frame")
	}
	if cap(buffer) < n {
		buffer = make([]byte, n)
	}
	buffer = buffer[:n]
	copy(buffer, length[:])
	_, err := io.ReadFull(src, buffer[4:])
	return buffer, err
}

func (c *counter) drop(conns ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
		delete(c.conns, conn)
	}
}

func (c *counter) close() {
	c.listener.Close()
	c.mu.Lock()
	for conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
	c.mu.Unlock()
	c.running.Wait()
}
