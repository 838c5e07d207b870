package wire

import (
	"encoding/binary"
	"fmt"
)

// Malformed is a frame that no ZooKeeper server sends, or that is too long to be taken. Its
// connection ends. go-zookeeper believes what a frame says of itself: it makes room for as many
// children as that counts, and ends the process where bytes are missing.
type Malformed struct{ Server, What string }

func (m Malformed) Error() string { return m.Server + " has sent " + m.What }

// readAnswer reads a frame of a connection that carries a session, or is being logged in.
func (l *Link) readAnswer() ([]byte, error) {
	begins, err := l.in.Peek(xidAt)
	if err != nil {
		return nil, err
	}
	length, longest := int64(binary.BigEndian.Uint32(begins)), int64(longestAnswer)
	if !l.connected.Load() {
		longest = longestLogin
	}
	switch {
	case length < shortestAnswer:
		return nil, l.malformed("a frame of %d bytes, and an answer has %d at least", length, shortestAnswer)
	case length > longest:
		return nil, l.malformed("a frame of %d bytes, and %d are the most that is taken", length, longest)
	}
	if begins, err = l.in.Peek(zxidAt); err != nil {
		return nil, err
	}
	room := l.room
	if r := l.out.next(); isOurs(xidOf(begins)) && r != nil && r.keeps() {
		room = nil
	}
	if length == shortestAnswer {
		room = l.room // nothing is left to be read later
	}
	frame, err := readFrame(l.in, int(length), room)
	if err != nil {
		return nil, err
	}
	if op := l.answers(frame); !isWhole(op, frame[frameHead:]) {
		return nil, l.malformed("an answer to operation %d that cannot be read", op)
	}
	return frame, nil
}

func (l *Link) malformed(what string, args ...any) error {
	err := Malformed{l.Server, fmt.Sprintf(what, args...)}
	l.dialer.Log.Warn("zklock: the server's answer is malformed, cutting the connection", "server", l.Server, "error", err)
	return err
}

// opEvent is what no request has asked for.
const opEvent int32 = -2

// answers returns the operation whose answer has a body in that frame, 0 if none has.
func (l *Link) answers(frame []byte) (op int32) {
	xid := xidOf(frame)
	switch {
	case xid == xidEvent:
		return opEvent
	case codeOf(frame) != 0:
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending[xid].op
}

func xidOf(frame []byte) int32      { return int32(binary.BigEndian.Uint32(frame[xidAt:])) }
func opcodeOf(request []byte) int32 { return int32(binary.BigEndian.Uint32(request[opcodeAt:])) }
func codeOf(answer []byte) int32    { return int32(binary.BigEndian.Uint32(answer[codeAt:])) }

// isWhole reports whether all fields of an answer's body are there. More may follow, of a newer
// server.
func isWhole(op int32, body []byte) bool {
	in := reader{left: body}
	switch op {
	case OpCreate, OpCreateContainer, OpCreateTTL, OpSync:
		in.text()
	case OpExists, OpSetData, OpSetACL:
		in.take(statSize)
	case OpGetData, OpReconfig:
		in.buffer()
		in.take(statSize)
	case OpGetACL:
		for range in.count() {
			in.int()
			in.text()
			in.text()
		}
		in.take(statSize)
	case OpGetChildren, OpGetChildren2:
		for range in.count() {
			in.text()
		}
		if op == OpGetChildren2 {
			in.take(statSize)
		}
	case OpMulti, OpMultiRead:
		for more := true; more; {
			_, more = in.result()
		}
	case opEvent:
		in.take(4 + 4) // its kind, the session's state
		in.text()
	}
	return in.err == nil
}
