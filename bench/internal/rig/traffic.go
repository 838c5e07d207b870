package rig

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/zklock/zklock/internal/faultproxy"
)

// Traffic is what clients and ZooKeeper servers said to each other through its
// proxies. Pings are not counted.
type Traffic struct {
	requests, writes, told, bytes atomic.Int64
}

// Count is a reading of Traffic. Told counts the events of watches, except those
// by which a client learns of what it has done itself.
type Count struct{ Requests, Writes, Told, Bytes float64 }

// Count returns what has gone through by now.
func (t *Traffic) Count() Count {
	return Count{
		Requests: float64(t.requests.Load()),
		Writes:   float64(t.writes.Load()),
		Told:     float64(t.told.Load()),
		Bytes:    float64(t.bytes.Load()),
	}
}

// Since returns what has gone through after an earlier reading, divided by n.
func (c Count) Since(before Count, n float64) Count {
	return Count{
		Requests: (c.Requests - before.Requests) / n,
		Writes:   (c.Writes - before.Writes) / n,
		Told:     (c.Told - before.Told) / n,
		Bytes:    (c.Bytes - before.Bytes) / n,
	}
}

// The xids by which frames that are no request or reply are known.
const (
	xidEvent int32 = -1
	xidPing  int32 = -2
)

// talk is what goes through one connection.
type talk struct {
	*Traffic
	deleted sync.Map // the paths that the client has deleted
}

func (t *talk) request(frame []byte) {
	if len(frame) < 8 || xid(frame) == xidPing {
		return
	}
	t.bytes.Add(int64(4 + len(frame)))
	t.requests.Add(1)
	switch int32(binary.BigEndian.Uint32(frame[4:])) {
	case faultproxy.OpDelete:
		t.deleted.Store(text(frame, 8), nil)
		t.writes.Add(1)
	case faultproxy.OpCreate, faultproxy.OpCreate2, faultproxy.OpCreateContainer,
		faultproxy.OpSetData, faultproxy.OpMulti:
		t.writes.Add(1)
	}
}

func (t *talk) reply(frame []byte) {
	if len(frame) < 4 || xid(frame) == xidPing {
		return
	}
	t.bytes.Add(int64(4 + len(frame)))
	if xid(frame) != xidEvent {
		return
	}
	const header, kindAndState = 16, 8
	if _, own := t.deleted.LoadAndDelete(text(frame, header+kindAndState)); !own {
		t.told.Add(1)
	}
}

func xid(frame []byte) int32 { return int32(binary.BigEndian.Uint32(frame)) }

// text returns the string at an offset, empty if there is none.
func text(frame []byte, at int) string {
	if len(frame) < at+4 {
		return ""
	}
	n := int(binary.BigEndian.Uint32(frame[at:]))
	if n < 0 || len(frame) < at+4+n {
		return ""
	}
	return string(frame[at+4 : at+4+n])
}
