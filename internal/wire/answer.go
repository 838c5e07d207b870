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

const (
	opEvent int32 = -2 // what no request has asked for
	opError int32 = -1 // of an operation in a transaction that has failed
)

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
		for in.result() {
		}
	case opEvent:
		in.take(4 + 4) // its kind, the session's state
		in.text()
	}
	return in.err == nil
}

// statSize is how long a node's Stat is.
const statSize = 6*8 + 5*4

// result passes what is told of one operation of several, and reports whether another may follow.
func (r *reader) result() bool {
	kind, end := r.int(), r.bool()
	r.int() // an error code
	switch {
	case end || r.err != nil:
		return false
	case kind == OpCreate:
		r.text()
	case kind == OpCreate2:
		r.text()
		r.take(statSize)
	case kind == OpSetData:
		r.take(statSize)
	case kind == OpGetData:
		r.buffer()
		r.take(statSize)
	case kind == opError:
		r.int()
	case kind != OpDelete && kind != OpCheck:
		r.err = ErrMalformed
	}
	return r.err == nil
}
