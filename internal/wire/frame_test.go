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

func TestAFrameIsReadIntoTheRoomThatThereIs(t *testing.T) {
	room := make([]byte, 100)
	frame, err := readFrame(bufio.NewReader(bytes.NewReader(make([]byte, 20))), 16, room)
	require.NoError(t, err)
	require.Same(t, &room[0], &frame[0])
}

func TestTheLengthOfAFrameAloneMakesNoRoom(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFrame(bufio.NewReader(bytes.NewReader(make([]byte, frameStep+1))), longestAnswer, nil)
	runtime.ReadMemStats(&after)
	require.Equal(t, io.EOF, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*frameStep))
}
