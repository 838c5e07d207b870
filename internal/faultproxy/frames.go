package faultproxy

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Operations of ZooKeeper's client protocol.
const (
	OpConnect         int32 = 0 // the first frame of a connection, which has no header
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpExists          int32 = 3
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpGetACL          int32 = 6
	OpSetACL          int32 = 7
	OpGetChildren     int32 = 8
	OpSync            int32 = 9
	OpPing            int32 = 11
	OpGetChildren2    int32 = 12
	OpCheck           int32 = 13
	OpMulti           int32 = 14
	OpCreate2         int32 = 15
	OpCreateContainer int32 = 19
	OpSetAuth         int32 = 100
	OpSetWatches      int32 = 101
	OpCloseSession    int32 = -11
)

const (
	xidConnect int32 = 0
	xidPing    int32 = -2
)

const largestFrame = 64 << 20

// readFrame returns one frame with the four bytes of its length.
func readFrame(src io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(src, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > largestFrame {
		return nil, fmt.Errorf("faultproxy: not a ZooKeeper frame: length %d", n)
	}
	frame := make([]byte, 4+n)
	copy(frame, length[:])
	_, err := io.ReadFull(src, frame[4:])
	return frame, err
}

// requestHeader returns the xid and the operation of a request.
func requestHeader(p parcel) (xid, op int32, ok bool) {
	if p.first {
		return xidConnect, OpConnect, true
	}
	if len(p.data) < 12 {
		return 0, 0, false
	}
	return int32At(p.data, 4), int32At(p.data, 8), true
}

// replyXid returns the xid of a reply.
func replyXid(p parcel) (xid int32, ok bool) {
	if p.first {
		return xidConnect, true
	}
	if len(p.data) < 8 {
		return 0, false
	}
	return int32At(p.data, 4), true
}

func isPing(p parcel) bool {
	xid, ok := replyXid(p)
	return ok && xid == xidPing
}

func int32At(frame []byte, i int) int32 { return int32(binary.BigEndian.Uint32(frame[i:])) }
