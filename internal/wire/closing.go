package wire

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// closingConn is the last connection that the client gets when its session is closed and no
// server can be asked: it answers by itself. For the answer to its last request the client
// waits a second, unless its loop comes past that request after it was queued, and nothing
// tells when that is. A connection meets it for certain.
type closingConn struct {
	mu      sync.Mutex // guards greeted and answers; nothing is locked under it
	greeted bool
	answers bytes.Buffer
	more    chan struct{} // has an element when there is something to read

	closed    chan struct{}
	closeOnce sync.Once
}

func newClosingConn() *closingConn {
	return &closingConn{more: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Write takes one frame, as a link's does.
func (f *closingConn) Write(frame []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.greeted {
		f.answer(frame)
	} else {
		f.greet(frame)
	}
	select {
	case f.more <- struct{}{}:
	default:
	}
	return len(frame), nil
}

// greet answers the connect request with the session that it names, or with any: an answer
// without one would have the client connect again.
func (f *closingConn) greet(frame []byte) {
	const timeoutAt, idAt, passwordAt = 16, 20, 28
	f.greeted = true
	id := max(1, binary.BigEndian.Uint64(frame[idAt:]))
	answer := binary.BigEndian.AppendUint32(nil, 0) // the protocol's version
	answer = append(answer, frame[timeoutAt:idAt]...)
	answer = binary.BigEndian.AppendUint64(answer, id)
	f.send(append(answer, frame[passwordAt:]...))
}

// answer lets the client log in and close its session, and refuses all else.
func (f *closingConn) answer(frame []byte) {
	const xidAt, opAt, bodyAt = 4, 8, 12
	code := int32(closing)
	switch int32(binary.BigEndian.Uint32(frame[opAt:bodyAt])) {
	case OpSetAuth, OpCloseSession:
		code = 0
	}
	answer := append([]byte(nil), frame[xidAt:opAt]...)
	answer = binary.BigEndian.AppendUint64(answer, 0) // no transaction
	f.send(binary.BigEndian.AppendUint32(answer, uint32(code)))
}

// closing is the code of [zk.ErrClosing].
const closing zk.ErrCode = -116

func (f *closingConn) send(answer []byte) {
	f.answers.Write(binary.BigEndian.AppendUint32(nil, uint32(len(answer))))
	f.answers.Write(answer)
}

func (f *closingConn) Read(p []byte) (int, error) {
	for {
		f.mu.Lock()
		n, _ := f.answers.Read(p)
		f.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-f.more:
		case <-f.closed:
			return 0, net.ErrClosed
		}
	}
}

func (f *closingConn) Close() error {
	f.closeOnce.Do(func() { close(f.closed) })
	return nil
}

func (f *closingConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (f *closingConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (f *closingConn) SetDeadline(time.Time) error      { return nil }
func (f *closingConn) SetReadDeadline(time.Time) error  { return nil }
func (f *closingConn) SetWriteDeadline(time.Time) error { return nil }
