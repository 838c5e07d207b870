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

// readAnswer reads a frame of a connection that carries a session.
func (l *Link) readAnswer() ([]byte, error) {
	begins, err := l.in.Peek(xidAt)
	if err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(begins))
	switch {
	case length < shortestAnswer:
		return nil, l.malformed("a frame of %d bytes, and an answer has %d at least", length, shortestAnswer)
	case length > longestAnswer:
		return nil, l.malformed("a frame of %d bytes, and %d are the most that is taken", length, longestAnswer)
	}
	if begins, err = l.in.Peek(zxidAt); err != nil {
		return nil, err
	}
	room := l.room
	if isOurs(xidOf(begins)) {
		room = nil // whose answer it is keeps it
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

func xidOf(answer []byte) int32  { return int32(binary.BigEndian.Uint32(answer[xidAt:])) }
func codeOf(answer []byte) int32 { return int32(binary.BigEndian.Uint32(answer[codeAt:])) }

// isWhole reports whether all fields of an answer's body are there. More may follow, of a newer
// server.
func isWhole(op int32, rest []byte) bool {
	b := body{rest}
	switch op {
	case OpCreate, OpCreateContainer, OpCreateTTL, OpSync:
		return b.text()
	case OpExists, OpSetData, OpSetACL:
		return b.skip(statSize)
	case OpGetData, OpReconfig:
		_, ok := b.data()
		return ok && b.skip(statSize)
	case OpGetACL:
		return b.each(func() bool { return b.skip(4) && b.text() && b.text() }) && b.skip(statSize)
	case OpGetChildren:
		return b.each(b.text)
	case OpGetChildren2:
		return b.each(b.text) && b.skip(statSize)
	case OpMulti:
		return b.results()
	case opEvent:
		return b.skip(4+4) && b.text() // its kind, the session's state, the path
	}
	return true
}

// statSize is how long a node's Stat is.
const statSize = 6*8 + 5*4

// body is what is left of an answer's body. Its methods report whether a field was there, and
// pass it.
type body struct{ rest []byte }

func (b *body) skip(n int) bool {
	if n > len(b.rest) {
		return false
	}
	b.rest = b.rest[n:]
	return true
}

func (b *body) number() (n int32, ok bool) {
	if len(b.rest) < 4 {
		return 0, false
	}
	n = int32(binary.BigEndian.Uint32(b.rest))
	return n, b.skip(4)
}

// data passes a length and as many bytes; a negative one says that there are none.
func (b *body) data() (data []byte, ok bool) {
	n, ok := b.number()
	if !ok || n <= 0 {
		return nil, ok
	}
	data = b.rest
	return data[:min(int(n), len(data))], b.skip(int(n))
}

// text is data that cannot be missing.
func (b *body) text() bool {
	n, ok := b.number()
	return ok && n >= 0 && b.skip(int(n))
}

// each passes a number and as many fields.
func (b *body) each(field func() bool) bool {
	n, ok := b.number()
	for ; ok && n > 0; n-- {
		ok = field()
	}
	return ok && n == 0
}

// results passes what a transaction says of each of its operations, up to its end.
func (b *body) results() bool {
	for {
		kind, ok := b.number()
		if !ok || len(b.rest) < 1+4 {
			return false
		}
		end := b.rest[0] != 0
		b.skip(1 + 4) // that, and an error code
		if end || !b.result(kind) {
			return end
		}
	}
}

// result passes what a transaction says of one of that kind.
func (b *body) result(kind int32) bool {
	switch kind {
	case OpDelete, OpCheck:
		return true
	case OpCreate:
		return b.text()
	case OpCreate2:
		return b.text() && b.skip(statSize)
	case OpSetData:
		return b.skip(statSize)
	case opError:
		return b.skip(4)
	}
	return false
}
