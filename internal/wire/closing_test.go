package wire

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// number is a field of a frame.
func number(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// framed is the fields as one frame.
func framed(fields ...[]byte) []byte {
	var body []byte
	for _, f := range fields {
		body = append(body, f...)
	}
	return append(number(int32(len(body))), body...)
}

func long(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// reads requires that a frame comes, byte by byte if it has to.
func reads(t *testing.T, c io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestASessionThatNoServerServesIsClosedByTheClientsOwnConnection(t *testing.T) {
	for asked, granted := range map[int64]int64{0x41: 0x41, 0: 1} { // one without a number would be asked for again
		c := newClosingConn()
		bytewise := iotest.OneByteReader(c)
		password := append(number(16), "0123456789abcdef"...)
		_, err := c.Write(framed(number(0), long(7), number(20_000), long(asked), password))
		require.NoError(t, err)
		for xid, request := range []struct{ op, code int32 }{
			{OpSetAuth, 0}, {OpSetWatches, -116}, {OpGetData, -116}, {OpCreate, -116}, {OpCloseSession, 0},
		} {
			_, err := c.Write(framed(number(int32(xid)), number(request.op), number(0)))
			require.NoError(t, err, "nobody has to read the answers meanwhile")
			if xid == 0 {
				reads(t, bytewise, framed(number(0), number(20_000), long(granted), password))
			}
			reads(t, bytewise, framed(number(int32(xid)), long(0), number(request.code)))
		}
	}
}

func TestTheClientsOwnConnectionIsReadUntilItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClosingConn()
		_, _ = c.Write(framed(number(0), long(7), number(20_000), long(1)))
		reads(t, c, framed(number(0), number(20_000), long(1)))
		read := make(chan error, 1)
		go func() {
			_, err := io.ReadFull(c, make([]byte, 4+16))
			read <- err
			_, err = c.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		require.Empty(t, read, "there is nothing yet")
		_, _ = c.Write(framed(number(1), number(OpCloseSession)))
		require.NoError(t, <-read)
		synctest.Wait()
		require.Empty(t, read)
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-read, net.ErrClosed)
	})
}
