package wire

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// frameOf returns a frame of so many bytes behind its length, whose head tells it from others.
func frameOf(xid int32, length int) []byte {
	frame := make([]byte, 4+length)
	binary.BigEndian.PutUint32(frame, uint32(length))
	binary.BigEndian.PutUint32(frame[4:], uint32(xid))
	for i := frameHead; i < len(frame); i++ {
		frame[i] = 0xff // taken for a length, it would be a long frame
	}
	return frame
}

func TestEachFrameIsToldOfByItsLastByteHoweverTheStreamComes(t *testing.T) {
	lengths := []int{16, 17, 40, 16, 100}
	var stream []byte
	var ends []int
	for i, length := range lengths {
		stream = append(stream, frameOf(int32(i), length)...)
		ends = append(ends, len(stream))
	}
	for piece := 1; piece <= len(stream); piece++ {
		var r frameReader
		told := 0
		for from := 0; from < len(stream); from += piece {
			to := min(from+piece, len(stream))
			r.feed(stream[from:to], func(head []byte) {
				require.LessOrEqual(t, ends[told], to, "half a reply says nothing")
				require.Equal(t, frameOf(int32(told), lengths[told])[:frameHead], head)
				told++
			})
			require.True(t, told == len(ends) || ends[told] > to, "in pieces of %d, %d told of at %d", piece, told, to)
		}
		require.Equal(t, len(ends), told)
	}
}

func TestARequestIsKnownByItsOperationAndItsPathOrThoseOfTheFirstInAMulti(t *testing.T) {
	join := func(parts ...[]byte) (frame []byte) {
		for _, p := range parts {
			frame = append(frame, p...)
		}
		return frame
	}
	head, path := make([]byte, 8), []byte("/lock")
	inMulti := join(number(OpDelete), make([]byte, 5))
	for name, c := range map[string]struct {
		frame []byte
		op    int32
		path  string
	}{
		"a request":                      {join(head, number(OpCreate), number(5), path, []byte("data")), OpCreate, "/lock"},
		"nothing but a path":             {join(head, number(OpDelete), number(5), path), OpDelete, "/lock"},
		"an empty path":                  {join(head, number(OpSync), number(0)), OpSync, ""},
		"no path":                        {join(head, number(OpCloseSession)), OpCloseSession, ""},
		"a path that is cut off":         {join(head, number(OpDelete), number(6), path), OpDelete, ""},
		"less than a length":             {join(head, number(OpDelete), []byte{0, 0, 0}), OpDelete, ""},
		"a length that is no length":     {join(head, number(OpDelete), number(-1), path), OpDelete, ""},
		"a multi":                        {join(head, number(OpMulti), inMulti, number(5), path), OpDelete, "/lock"},
		"a multi with an operation only": {join(head, number(OpMulti), inMulti, []byte{0}), OpDelete, ""},
		"a multi with nothing":           {join(head, number(OpMulti), number(-1), []byte{1}, number(-1)), OpMulti, ""},
		"no operation":                   {join(head, []byte{0, 0, 0}), 0, ""},
		"nothing":                        {nil, 0, ""},
	} {
		op, path := request(c.frame)
		require.Equal(t, c.op, op, name)
		require.Equal(t, c.path, string(path), name)
	}
}
