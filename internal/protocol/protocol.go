// Package protocol is as much of ZooKeeper's client protocol as the programs around
// the tests need that speak it, count it or break it: the operations, and how a
// frame begins. The library reads the wire by code of its own, so that no mistake is
// in both.
package protocol

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Operations.
const (
	OpConnect         int32 = 0 // the first frame of a connection, which has no header
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpExists          int32 = 3
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpGetChildren     int32 = 8
	OpSync            int32 = 9
	OpPing            int32 = 11
	OpGetChildren2    int32 = 12
	OpMulti           int32 = 14
	OpCreate2         int32 = 15
	OpCreateContainer int32 = 19
	OpSetAuth         int32 = 100
	OpCloseSession    int32 = -11
)

// The xids of frames that are no request or reply, in both directions.
const (
	XidEvent int32 = -1
	XidPing  int32 = -2
)

// Where fields stand in a frame, whose length comes first.
const (
	lengthSize = 4
	xidAt      = lengthSize
	opAt       = xidAt + 4
	BodyAt     = opAt + 4       // of a request: the path, where the operation has one
	EventAt    = xidAt + 16 + 8 // of an event: the path, behind the header, the kind and the state
)

// ReadFrame returns one frame with its length.
func ReadFrame(src io.Reader) ([]byte, error) {
	var length [lengthSize]byte
	if _, err := io.ReadFull(src, length[:]); err != nil {
		return nil, err
	}
	const largest = 64 << 20
	n := binary.BigEndian.Uint32(length[:])
	if n > largest {
		return nil, fmt.Errorf("not a ZooKeeper frame: length %d", n)
	}
	frame := make([]byte, lengthSize+n)
	copy(frame, length[:])
	_, err := io.ReadFull(src, frame[lengthSize:])
	return frame, err
}

// Xid returns the xid of a frame that is no handshake's.
func Xid(frame []byte) (xid int32, ok bool) { return int32At(frame, xidAt) }

// Op returns the operation of a request that is no handshake's.
func Op(request []byte) (op int32, ok bool) { return int32At(request, opAt) }

// Text returns the string at an offset, empty if there is none.
func Text(frame []byte, at int) string {
	n, ok := int32At(frame, at)
	start := at + 4
	if !ok || n < 0 || len(frame)-start < int(n) {
		return ""
	}
	return string(frame[start : start+int(n)])
}

func int32At(frame []byte, at int) (int32, bool) {
	if len(frame) < at+4 {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(frame[at:])), true
}
