package wire

import (
	"bufio"
	"slices"
)

// Operation codes of ZooKeeper's protocol that the library looks for.
const (
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpExists          int32 = 3
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpGetACL          int32 = 6
	OpSetACL          int32 = 7
	OpGetChildren     int32 = 8
	OpSync            int32 = 9
	OpGetChildren2    int32 = 12
	OpCheck           int32 = 13
	OpMulti           int32 = 14
	OpCreate2         int32 = 15
	OpReconfig        int32 = 16
	OpRemoveWatches   int32 = 18
	OpCreateContainer int32 = 19
	OpCreateTTL       int32 = 21
	OpMultiRead       int32 = 22
	OpSetAuth         int32 = 100
	OpSetWatches      int32 = 101
	OpSASL            int32 = 102
	OpAddWatch        int32 = 106
	OpCloseSession    int32 = -11
)

// writes are the operations that a majority commits before they are answered without error. So
// is a multi that fails, whose answer as a whole has none.
var writes = []int32{OpCreate, OpDelete, OpSetData, OpSetACL, OpMulti, OpCreateContainer}

// Transaction ids that are not a request's.
const (
	xidEvent = -1
	xidPing  = -2
)

// Error codes in the answer to a login that is refused; the second is that of a server which serves
// nobody without SASL.
const (
	authFailed  = -115
	demandsSASL = -124
)

// Where the fields of an answer stand, behind its length; those of a connect request's answer are
// the protocol's version, the session's timeout and its id.
const (
	xidAt  = 4
	zxidAt = 8
	codeAt = 16

	opcodeAt = 8 // of a request, whose xid stands where an answer's does

	frameHead = 20 // how much of a frame these are
)

// No answer is shorter than its head. The longest that is taken is far beyond the list of a
// million children, which no server sends by default.
// One that logs in is believed less.
const (
	shortestAnswer = frameHead - 4
	longestAnswer  = 64 << 20
	longestLogin   = 1 << 20
)

// frameStep is how much room is made for a frame at once: its length alone is no reason to make
// more, before as much has come.
const frameStep = 64 << 10

// readFrame reads a frame whose length has come, into room if that is enough.
func readFrame(in *bufio.Reader, length int, room []byte) (frame []byte, err error) {
	frame = room[:0]
	for whole := 4 + length; len(frame) < whole; {
		read := len(frame)
		next := min(whole-read, max(read, frameStep))
		frame = slices.Grow(frame, next)[:read+next]
		for at := read; at < len(frame); {
			n, err := in.Read(frame[at:])
			if at += n; err != nil {
				return nil, err
			}
		}
	}
	return frame, nil
}
