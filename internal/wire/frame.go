package wire

import "encoding/binary"

// Operation codes of ZooKeeper's protocol that the library looks for.
const (
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpExists          int32 = 3
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpSetACL          int32 = 7
	OpGetChildren     int32 = 8
	OpSync            int32 = 9
	OpGetChildren2    int32 = 12
	OpMulti           int32 = 14
	OpCreateContainer int32 = 19
	OpSetAuth         int32 = 100
	OpSetWatches      int32 = 101
	OpCloseSession    int32 = -11
)

// writes are the operations that a majority commits before they are answered without error. So
// is a multi that fails, whose answer as a whole has none.
var writes = []int32{OpCreate, OpDelete, OpSetData, OpSetACL, OpMulti, OpCreateContainer}

// watching are the operations by which go-zookeeper sets a watch, if their last byte says so.
var watching = []int32{OpExists, OpGetData, OpGetChildren, OpGetChildren2}

// Transaction ids that are not a request's.
const (
	xidEvent = -1
	xidPing  = -2
)

// authFailed is the error code in the answer to a login that is refused.
const authFailed = -115

// noNode is the error code in the answer to a request about a node that does not exist.
const noNode = -101

// frameHead is as much of a frame as anything here needs: its length, then a reply's xid, zxid
// and error code, or, in the answer to a connect, protocol version, timeout and session id.
const frameHead = 4 + 16

// frameReader finds the frames in a stream that somebody else reads.
type frameReader struct {
	head   [frameHead]byte
	filled int
	body   int // bytes still to pass before the frame's end
}

// feed takes the next bytes of the stream and calls onFrame with the head of each frame that
// they complete. Half a reply says nothing.
func (r *frameReader) feed(p []byte, onFrame func(head []byte)) {
	for len(p) > 0 {
		if r.filled < frameHead {
			n := copy(r.head[r.filled:], p)
			r.filled += n
			p = p[n:]
			if r.filled < frameHead {
				return
			}
			length := int(binary.BigEndian.Uint32(r.head[:]))
			r.body = max(4+length-frameHead, 0)
		}
		n := min(r.body, len(p))
		r.body -= n
		p = p[n:]
		if r.body == 0 {
			r.filled = 0
			onFrame(r.head[:])
		}
	}
}

// Request is what a request is recognised by: its operation and the path that its body begins
// with; of a multi, those of its first operation.
type Request struct {
	Op   int32
	Path string
}

// request returns what a frame asks for: the operation and the path of a [Request].
func request(frame []byte) (op int32, path []byte) {
	const opAt, bodyAt, multiHeader = 8, 12, 9
	if len(frame) < bodyAt {
		return 0, nil
	}
	op, body := int32(binary.BigEndian.Uint32(frame[opAt:])), frame[bodyAt:]
	if op == OpMulti && len(body) > multiHeader {
		op, body = int32(binary.BigEndian.Uint32(body)), body[multiHeader:]
	}
	if len(body) >= 4 {
		if n := binary.BigEndian.Uint32(body); uint64(n) <= uint64(len(body)-4) {
			path = body[4 : 4+n]
		}
	}
	return op, path
}
