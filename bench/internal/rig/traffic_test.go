package rig

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/internal/protocol"
)

func request(xid, op int32, path string) []byte { return frame(path, xid, op) }

func event(path string) []byte {
	const kind, state = 2, 3
	return frame(path, protocol.XidEvent, 0, 0, 0, kind, state)
}

// frame encodes numbers and a path behind them.
func frame(path string, numbers ...int32) []byte {
	length := 4*len(numbers) + 4 + len(path)
	b := binary.BigEndian.AppendUint32(nil, uint32(length))
	for _, n := range append(numbers, int32(len(path))) {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(b, path...)
}

func TestWhatIsCounted(t *testing.T) {
	traffic, bytes := new(Traffic), 0
	count := traffic.tap()
	say := func(dir faultproxy.Direction, frame []byte) {
		bytes += len(frame)
		count(dir, frame)
	}
	say(faultproxy.ClientToServer, request(1, protocol.OpCreate, "/lock/a"))
	say(faultproxy.ServerToClient, frame("/lock/a", 1, 0, 7, 0))
	say(faultproxy.ClientToServer, request(2, protocol.OpGetChildren2, "/lock"))
	say(faultproxy.ClientToServer, request(3, protocol.OpDelete, "/lock/a"))
	say(faultproxy.ServerToClient, event("/lock/a")) // its own deed
	say(faultproxy.ServerToClient, event("/lock/b"))
	count(faultproxy.ClientToServer, request(protocol.XidPing, protocol.OpPing, ""))
	count(faultproxy.ServerToClient, frame("", protocol.XidPing, 0, 0, 0))

	require.Equal(t, Count{Requests: 3, Writes: 2, Told: 1, Bytes: float64(bytes)}, traffic.Count())
}

func TestWhatAnotherConnectionHasDeletedIsNews(t *testing.T) {
	traffic := new(Traffic)
	one, other := traffic.tap(), traffic.tap()
	one(faultproxy.ClientToServer, request(1, protocol.OpDelete, "/lock/a"))
	other(faultproxy.ServerToClient, event("/lock/a"))
	require.EqualValues(t, 1, traffic.Count().Told)
	one(faultproxy.ServerToClient, event("/lock/a"))
	require.EqualValues(t, 1, traffic.Count().Told)
}

func TestCountSince(t *testing.T) {
	before := Count{Requests: 10, Writes: 2, Told: 1, Bytes: 100}
	now := Count{Requests: 40, Writes: 12, Told: 11, Bytes: 1100}
	require.Equal(t, Count{Requests: 3, Writes: 1, Told: 1, Bytes: 100}, now.Since(before, 10))
}

func TestAFrameThatIsCutShortIsNoReasonToFail(t *testing.T) {
	count := new(Traffic).tap()
	for _, frame := range [][]byte{nil, event("/a")[:8], request(1, protocol.OpDelete, "/a")[:18], event("/a")[:26]} {
		count(faultproxy.ClientToServer, frame)
		count(faultproxy.ServerToClient, frame)
	}
}
