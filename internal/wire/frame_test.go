package wire

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestAFrameIsReadWholeHoweverTheStreamComes(t *testing.T) {
	lengths := []int{16, 17, 0, 40, frameStep - 4, frameStep, 3*frameStep + 1}
	var stream []byte
	for i, length := range lengths {
		stream = append(stream, framed(bytes.Repeat([]byte{byte(i)}, length))...)
	}
	for name, pieces := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "half by half": iotest.HalfReader, "byte by byte": iotest.OneByteReader,
	} {
		in, read := bufio.NewReader(pieces(bytes.NewReader(stream))), []byte(nil)
		var room []byte
		for _, length := range lengths {
			frame, err := readFrame(in, length, room)
			require.NoError(t, err, name)
			require.Len(t, frame, 4+length, name)
			read, room = append(read, frame...), frame
		}
		require.Equal(t, stream, read, name)
		_, err := readFrame(in, 1, nil)
		require.Equal(t, io.EOF, err, name)
	}
}

func TestTheLengthOfAFrameAloneMakesNoRoom(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFrame(bufio.NewReader(bytes.NewReader(make([]byte, frameStep+1))), longestAnswer, nil)
	runtime.ReadMemStats(&after)
	require.Equal(t, io.EOF, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*frameStep))
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
	acl := join(number(1), number(31), text("world"), text("anyone"))
	parent := func(flags int32) []byte {
		return join(number(OpCreate), make([]byte, 5), text("/parent"), number(-1), acl, number(flags))
	}
	create := func(flags int32) []byte {
		return join(number(OpCreate), make([]byte, 5), text("/lock"), text("data"), acl, number(flags))
	}
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
		"a multi that makes parents":     {join(head, number(OpMulti), parent(4), parent(0), create(3)), OpCreate, "/lock"},
		"a multi of parents":             {join(head, number(OpMulti), parent(4), number(-1), []byte{1}, number(-1)), OpCreate, ""},
		"a multi that is cut off":        {join(head, number(OpMulti), parent(4)[:30]), OpCreate, "/parent"},
		"no operation":                   {join(head, []byte{0, 0, 0}), 0, ""},
		"nothing":                        {nil, 0, ""},
	} {
		op, path := request(c.frame)
		require.Equal(t, c.op, op, name)
		require.Equal(t, c.path, string(path), name)
	}
}
