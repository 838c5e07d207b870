package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"

	"github.com/go-zookeeper/zk"
)

// closing returns the last connection that go-zookeeper gets when its session is closed and no
// server can be asked: it answers by itself. For the answer to its last request go-zookeeper
// waits a second, unless its loop comes past that request after it was queued, and nothing
// tells when that is. A connection meets it for certain.
func (d *Dialer) closing() net.Conn {
	ours, theirs := net.Pipe()
	d.unclosed.Go(func() {
		in, answer := bufio.NewReader(theirs), greeting
		for over := false; !over; {
			begins, err := in.Peek(4)
			if err != nil {
				return
			}
			frame, err := readFrame(in, int(binary.BigEndian.Uint32(begins)), nil)
			if err != nil {
				return
			}
			_, _ = theirs.Write(answer(frame)) // who reads no answer says nothing any more either
			over = opcodeOf(frame) == OpCloseSession
			answer = refusal
		}
		_, _ = io.Copy(io.Discard, in) // nobody reads any more, and nobody is to wait for that
	})
	return ours
}

// greeting answers the connect request with the session that it names, or with any: an answer
// without one would have the client connect again.
func greeting(frame []byte) []byte {
	const timeoutAt, idAt, passwordAt = 16, 20, 28
	id := max(1, binary.BigEndian.Uint64(frame[idAt:]))
	answer := appendInt(make([]byte, 4), 0) // the protocol's version
	answer = append(answer, frame[timeoutAt:idAt]...)
	answer = binary.BigEndian.AppendUint64(answer, id)
	return sized(append(answer, frame[passwordAt:]...))
}

// refusal lets the client log in and close its session, and refuses all else.
func refusal(frame []byte) []byte {
	var code zk.ErrCode
	if op := opcodeOf(frame); op != OpSetAuth && op != OpCloseSession {
		code = -116 // zk.ErrClosing
	}
	answer := append(make([]byte, 4), frame[xidAt:opcodeAt]...)
	answer = binary.BigEndian.AppendUint64(answer, 0) // no transaction
	return sized(appendInt(answer, int32(code)))
}

// sized returns a frame, which begins with its length.
func sized(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}
