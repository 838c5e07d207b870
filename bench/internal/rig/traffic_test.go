package rig

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

func request(xid, op int32, path string) []byte {
	return append(words(xid, op), encoded(path)...)
}

func event(path string) []byte {
	const kind, state = 2, 3
	return append(words(xidEvent, 0, 0, 0, kind, state), encoded(path)...)
}

func words(values ...int32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func encoded(text string) []byte { return append(words(int32(len(text))), text...) }

func TestWhatIsCounted(t *testing.T) {
	c := &talk{Traffic: new(Traffic)}
	frames := 0
	say := func(hear func([]byte), frame []byte) {
		frames += 4 + len(frame)
		hear(frame)
	}
	say(c.request, request(1, faultproxy.OpCreate, "/lock/a"))
	say(c.reply, words(1, 0, 7, 0))
	say(c.request, request(2, faultproxy.OpGetChildren2, "/lock"))
	say(c.request, request(3, faultproxy.OpDelete, "/lock/a"))
	say(c.reply, event("/lock/a")) // its own deed
	say(c.reply, event("/lock/b"))
	c.request(request(xidPing, faultproxy.OpPing, ""))
	c.reply(words(xidPing, 0, 0, 0))

	require.Equal(t, Count{Requests: 3, Writes: 2, Told: 1, Bytes: float64(frames)}, c.Count())
}

func TestCountSince(t *testing.T) {
	before := Count{Requests: 10, Writes: 2, Told: 1, Bytes: 100}
	now := Count{Requests: 40, Writes: 12, Told: 11, Bytes: 1100}
	require.Equal(t, Count{Requests: 3, Writes: 1, Told: 1, Bytes: 100}, now.Since(before, 10))
}

func TestAFrameThatIsCutShortIsNoReasonToFail(t *testing.T) {
	c := &talk{Traffic: new(Traffic)}
	for _, frame := range [][]byte{nil, words(1), request(1, faultproxy.OpDelete, "/a")[:14], event("/a")[:22]} {
		c.request(frame)
		c.reply(frame)
	}
}
