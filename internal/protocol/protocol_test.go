package protocol

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// frame encodes numbers and texts with their length before them.
func frame(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(f))
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func TestARequestIsRead(t *testing.T) {
	sent := frame(int32(7), OpDelete, "/path", int32(-1))
	src := bytes.NewReader(append(sent, "more"...))
	read, err := ReadFrame(src)
	require.NoError(t, err)
	require.Equal(t, sent, read)
	require.Equal(t, 4, src.Len())

	xid, ok := Xid(read)
	require.True(t, ok)
	require.EqualValues(t, 7, xid)
	op, ok := Op(read)
	require.True(t, ok)
	require.Equal(t, OpDelete, op)
	require.Equal(t, "/path", Text(read, BodyAt))
}

func TestAnEventsPathIsRead(t *testing.T) {
	const zxid, code, kind, state int32 = 0, 0, 2, 3
	event := frame(XidEvent, zxid, zxid, code, kind, state, "/path")
	require.Equal(t, "/path", Text(event, EventAt))
}

func TestAFrameThatIsCutShortIsNoReasonToFail(t *testing.T) {
	whole := frame(int32(7), OpDelete, "/path")
	for n := range whole {
		require.Empty(t, Text(whole[:n], BodyAt), n)
		_, ok := Op(whole[:n])
		require.Equal(t, n >= BodyAt, ok, n)
		_, err := ReadFrame(bytes.NewReader(whole[:n]))
		require.Error(t, err, n)
	}
	require.Empty(t, Text(frame(int32(7), OpDelete, int32(-1)), BodyAt))
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	_, err := ReadFrame(io.MultiReader(bytes.NewReader([]byte("ruok")), neverEnding{}))
	require.ErrorContains(t, err, "not a ZooKeeper frame")
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
