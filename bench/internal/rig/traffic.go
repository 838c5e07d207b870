package rig

import (
	"sync"
	"sync/atomic"

	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/internal/protocol"
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

// tap returns what counts the frames of one more connection.
func (t *Traffic) tap() func(dir faultproxy.Direction, frame []byte) {
	return (&talk{Traffic: t}).count
}

// talk is what goes through one connection.
type talk struct {
	*Traffic
	deleted sync.Map // the paths that the client has deleted
}

func (t *talk) count(dir faultproxy.Direction, frame []byte) {
	xid, ok := protocol.Xid(frame)
	if !ok || xid == protocol.XidPing {
		return
	}
	t.bytes.Add(int64(len(frame)))
	switch {
	case dir == faultproxy.ClientToServer:
		t.request(frame)
	case xid == protocol.XidEvent:
		if _, own := t.deleted.LoadAndDelete(protocol.Text(frame, protocol.EventAt)); !own {
			t.told.Add(1)
		}
	}
}

func (t *talk) request(frame []byte) {
	t.requests.Add(1)
	switch op, _ := protocol.Op(frame); op {
	case protocol.OpDelete:
		t.deleted.Store(protocol.Text(frame, protocol.BodyAt), nil)
		t.writes.Add(1)
	case protocol.OpCreate, protocol.OpCreate2, protocol.OpCreateContainer, protocol.OpSetData, protocol.OpMulti:
		t.writes.Add(1)
	}
}
