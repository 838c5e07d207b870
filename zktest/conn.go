package zktest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"time"
)

// conn is the server's end of a client's connection. One goroutine reads frames into the lane in, one writes what comes
// out of the lane out; everything between happens under the ensemble's lock, which is never held while reading or
// writing.
type conn struct {
	srv    *Server
	client *Client
	nc     net.Conn
	number int64
	in     lane
	out    lane

	session int64 // 0 before the handshake
	timeout time.Duration
	who     []identity
	pending []*request // in order of arrival; answered in that order
	asked   bool       // the handshake has begun
	ended   bool       // takes no more requests, sends no more events
	freed   bool       // the frame at hand was held: no other fault meets it

	readOnly bool // the client sent, and expects, a read-only flag in the handshake

	received, sent int // packets

	wake   chan struct{}
	frames [][]byte // ready to be written
	hangup bool     // close once they are
}

// inOrder returns connections in the order they were made, so that what happens to all of them happens the same way
// each time.
func inOrder(conns map[*conn]struct{}) []*conn {
	return slices.SortedFunc(maps.Keys(conns), (*conn).compare)
}

func (c *conn) compare(other *conn) int { return cmp.Compare(c.number, other.number) }

// accept starts serving nc. The caller holds the lock.
func (s *Server) accept(nc net.Conn, client *Client) {
	e := s.e
	e.connections++
	c := &conn{srv: s, client: client, nc: nc, number: e.connections, wake: make(chan struct{}, 1)}
	c.in = lane{e: e, blocked: func() bool { return s.frozen || client.cut[ToServer][s.index] }}
	c.out = lane{e: e, blocked: func() bool { return client.cut[ToClient][s.index] }}
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		host = "127.0.0.1"
	}
	c.who = []identity{{"ip", host}}
	e.open[c] = struct{}{}
	s.conns[c] = struct{}{}
	e.workers.Add(2)
	go c.read()
	go c.write()
}

// read takes frames off the connection for as long as it lasts. Requests that have arrived are served even if the
// client has hung up behind them, as when they wait in the buffers of a server that was cut off.
func (c *conn) read() {
	defer c.srv.e.workers.Done()
	for first := true; ; first = false {
		frame, serve, err := c.readPacket(first)
		c.srv.e.do(func() {
			c.in.push(c.client.latency(ToServer), func() {
				if err != nil {
					c.close()
					return
				}
				c.received++
				c.srv.received++
				serve(frame)
			})
		})
		if err != nil {
			return
		}
	}
}

// readPacket reads a frame, or, if it is the first, a four-letter word, and returns what is to serve it.
func (c *conn) readPacket(first bool) (packet []byte, serve func([]byte), err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c.nc, head); err != nil {
		return nil, nil, err
	}
	if first && isWord(head) {
		return head, c.word, nil
	}
	packet, err = readFrame(c.nc, int32(binary.BigEndian.Uint32(head)), c.srv.e.maxFrame)
	return packet, c.handle, err
}

var errFrame = errors.New("zktest: frame length out of bounds")

func readFrame(r io.Reader, length int32, limit int) ([]byte, error) {
	if length < 0 || int(length) > limit {
		return nil, errFrame
	}
	frame := make([]byte, length)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func (c *conn) write() {
	defer c.srv.e.workers.Done()
	for {
		frames, hangup := c.written()
		for _, frame := range frames {
			if _, err := c.nc.Write(frame); err != nil {
				hangup = true
				break
			}
		}
		if hangup {
			c.nc.Close()
			c.srv.e.do(func() { delete(c.srv.e.open, c) })
			return
		}
		if len(frames) == 0 {
			<-c.wake
		}
	}
}

// written hands the ready frames to the writer.
func (c *conn) written() ([][]byte, bool) {
	c.srv.e.mu.Lock()
	defer c.srv.e.mu.Unlock()
	frames := c.frames
	c.frames = nil
	return frames, c.hangup
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// send queues a frame for the client.
func (c *conn) send(frame []byte) {
	c.out.push(c.client.latency(ToClient), func() {
		if c.hangup {
			return
		}
		c.sent++
		c.srv.sent++
		c.frames = append(c.frames, frame)
		c.signal()
	})
}

// event tells the client that a watch has fired, by the transaction with that zxid.
func (c *conn) event(event eventType, path string, zxid int64) {
	if c.ended {
		return
	}
	if !c.srv.e.since(9) { // ZOOKEEPER-4655
		zxid = missed
	}
	e := newReply(-1, zxid, ok)
	e.int32(int32(event))
	e.int32(3) // KeeperState.SyncConnected
	e.string(path)
	c.send(e.frame())
}

// shut ends the connection from the server's side: what has been sent still arrives.
func (c *conn) shut() {
	if c.ended {
		return
	}
	c.end()
	c.out.push(c.client.latency(ToClient), func() {
		c.hangup = true
		c.signal()
	})
}

// close ends the connection at once, both ways.
func (c *conn) close() {
	c.end()
	c.hangup = true
	c.frames = nil
	c.nc.Close()
	c.signal()
}

func (c *conn) end() {
	c.ended = true
	c.pending = nil
	c.srv.watches.drop(c)
	delete(c.srv.conns, c)
}
