package wire

import (
	"context"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// requireItsOwn checks that a dialer of a session that is closed makes no connection to a server.
func requireItsOwn(t *testing.T, d *Dialer, address string) {
	t.Helper()
	conn, err := d.Connect("tcp", address, time.Second)
	require.NoError(t, err)
	_, is := conn.(*Link)
	require.False(t, is)
	require.NoError(t, conn.Close())
	d.Await()
}

func TestASessionThatNoServerServesIsClosedByTheClientsOwnConnection(t *testing.T) {
	for asked, granted := range map[int64]int64{0x41: 0x41, 0: 1} { // one without a number would be asked for again
		virtual.Test(t, func(t *testing.T) {
			d := dialerOf(context.Background(), pressed{})
			c := d.closing()
			bytewise := iotest.OneByteReader(c)
			password := append(number(16), "0123456789abcdef"...)
			_, err := c.Write(framed(number(0), long(7), number(20_000), long(asked), password))
			require.NoError(t, err)
			reads(t, bytewise, framed(number(0), number(20_000), long(granted), password))
			for xid, request := range []struct{ op, code int32 }{
				{OpSetAuth, 0}, {OpSetWatches, -116}, {OpGetData, -116}, {OpCreate, -116}, {OpCloseSession, 0},
			} {
				_, err := c.Write(framed(number(int32(xid)), number(request.op), number(0)))
				require.NoError(t, err)
				reads(t, bytewise, framed(number(int32(xid)), long(0), number(request.code)))
			}
			for range 3 {
				_, err := c.Write(framed(number(9), number(OpGetData)))
				require.NoError(t, err, "nobody has to read any more")
			}
			require.NoError(t, c.Close())
			d.Await()
		})
	}
}

func TestTheClientsOwnConnectionEndsWithItsOtherEnd(t *testing.T) {
	for name, frame := range map[string][]byte{
		"ahead of a request": nil, "amid its length": number(9)[:2], "amid a request": framed(number(0), long(7))[:9],
		"ahead of the answer": framed(number(0), long(7), number(20_000), long(1), number(0)),
	} {
		virtual.Run(t, name, func(t *testing.T) {
			d := dialerOf(context.Background(), pressed{})
			c := d.closing()
			_, err := c.Write(frame)
			require.NoError(t, err)
			require.NoError(t, c.Close())
			d.Await()
		})
	}
}
