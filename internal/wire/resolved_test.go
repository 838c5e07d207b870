package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

func TestANameIsDialledAtAnotherOfItsAddressesEachTime(t *testing.T) {
	rs := new(resolved)
	first := func(name string, addresses ...string) string { return rs.inTurn(name, addresses)[0] }
	require.Equal(t, []string{"1", "2", "3"}, rs.inTurn("fixed", []string{"1", "2", "3"}))
	require.Equal(t, []string{"2", "3", "1"}, rs.inTurn("fixed", []string{"1", "2", "3"}))
	require.Equal(t, []string{"3", "1", "2"}, rs.inTurn("fixed", []string{"1", "2", "3"}))
	require.Equal(t, []string{"1", "2", "3"}, rs.inTurn("fixed", []string{"1", "2", "3"}))

	require.Equal(t, "4", first("turned by the name server", "4", "5"))
	require.Equal(t, "5", first("turned by the name server", "5", "4"))
	require.Equal(t, "4", first("turned by the name server", "4", "5"))

	require.Equal(t, "6", first("changing", "6", "7"))
	require.Equal(t, "8", first("changing", "6", "8", "7"))
	require.Equal(t, "7", first("changing", "7", "8"))
	require.Equal(t, []string{"8", "7"}, rs.begun["changing"], "what is no address of it any more is forgotten")

	require.Equal(t, "9", first("one", "9"))
	require.NotContains(t, rs.begun, "one", "as most names, whose number has no bound")

	require.Equal(t, "2", first("fixed", "1", "2", "3"), "each name has its own turn")
}

func TestAnAddressThatIsShunnedIsDialledAfterTheOthersOfItsName(t *testing.T) {
	rs := new(resolved)
	require.Equal(t, []string{"1", "2", "3"}, rs.inTurn("name", []string{"1", "2", "3"}))
	rs.shunned.add("2")
	for range 3 {
		require.Equal(t, "2", rs.inTurn("name", []string{"1", "2", "3"})[2])
	}
	for _, other := range []string{"1", "3"} {
		rs.shunned.add(other)
	}
	first := map[string]bool{}
	for range 3 {
		first[rs.inTurn("name", []string{"1", "2", "3"})[0]] = true
	}
	require.Len(t, first, 3, "there is no better one any more")
}

// fate is what becomes of the dial of an address, and when.
type fate struct {
	after time.Duration // 0 if nothing does
	err   error
}

func TestTheNextAddressOfANameIsDialledIfOneRefusesOrIsSlow(t *testing.T) {
	refused, later, never := errors.New("refused"), errors.New("refused later"), fate{}
	for name, tc := range map[string]struct {
		addresses []fate
		takes     time.Duration
		err       error
	}{
		"the first serves":               {[]fate{{ms, nil}, {ms, nil}}, ms, nil},
		"the first refuses":              {[]fate{{ms, refused}, {ms, nil}}, 2 * ms, nil},
		"the first hangs":                {[]fate{never, {ms, nil}}, 301 * ms, nil},
		"two hang":                       {[]fate{never, never, {ms, nil}}, 601 * ms, nil},
		"many hang":                      {[]fate{never, never, never, never, {ms, nil}}, 801 * ms, nil},
		"one hangs, one refuses":         {[]fate{never, {ms, refused}, {ms, nil}}, 302 * ms, nil},
		"all are slow, the first serves": {[]fate{{900 * ms, nil}, {900 * ms, nil}, {900 * ms, nil}}, 1500 * ms, nil},
		"all hang":                       {[]fate{never, never}, 1200 * ms, context.DeadlineExceeded},
		"all refuse, the first one says": {[]fate{{ms, refused}, {ms, later}, {ms, later}}, 3 * ms, refused},
		"there is none":                  {nil, 0, &net.AddrError{Err: "there is no address"}},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1200*ms)
			defer cancel()
			addresses, fates := []string(nil), map[string]fate{}
			for i, f := range tc.addresses {
				addresses = append(addresses, strconv.Itoa(i))
				fates[addresses[i]] = f
			}
			var open atomic.Int32
			began := time.Now()
			conn, err := dialEach(ctx, addresses, func(ctx context.Context, address string) (net.Conn, error) {
				f := fates[address]
				if f.after == 0 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				time.Sleep(f.after) // whatever becomes of ctx: each that was begun has to be over
				if f.err != nil {
					return nil, f.err
				}
				conn, _ := net.Pipe()
				open.Add(1)
				return counted{conn, &open}, nil
			})
			require.Equal(t, tc.err, err)
			require.Equal(t, tc.err == nil, conn != nil)
			if conn != nil {
				conn.Close()
			}
			require.Zero(t, open.Load(), "each one that is of no use was closed")
			require.Equal(t, tc.takes, time.Since(began))
		})
	}
}

// counted is a connection that is counted as long as it is open.
type counted struct {
	net.Conn
	open *atomic.Int32
}

func (c counted) Close() error { c.open.Add(-1); return c.Conn.Close() }

// nameServer dials a name server that knows one name, with these IPv4 addresses (RFC 1035).
func nameServer(name string, addresses ...string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			const header, a, noSuchName = 12, 1, 3
			query := make([]byte, 1<<10)
			if n, _ := io.ReadAtLeast(theirs, query, 2+header); n > 2+header { // behind its length
				query = query[2:n]
			}
			end := header + bytes.IndexByte(query[header:], 0) + 1
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[header:end+4]...)
			switch {
			case !bytes.Contains(query, []byte(name)):
				reply[3] |= noSuchName
			case query[end+1] == a:
				reply[7] = byte(len(addresses))
				for _, address := range addresses {
					reply = append(reply, 0xc0, header, 0, a, 0, 1, 0, 0, 0, 0, 0, 4)
					reply = append(reply, net.ParseIP(address).To4()...)
				}
			}
			_, _ = theirs.Write(append([]byte{0, byte(len(reply))}, reply...))
		}()
		return ours, nil
	}
}

func TestANameOfSeveralServersIsDialledAtEachOfItsAddresses(t *testing.T) {
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: nameServer("ensemble", "127.0.0.1", "127.0.0.2")}
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	address := server.Addr().String()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rs := new(resolved)
	for _, name := range []string{"ensemble.:" + port, "ensemble.:" + port, ":" + port} { // without a host it is this one
		conn, err := rs.dial(ctx, "tcp4", name)
		require.NoError(t, err)
		require.Equal(t, address, conn.RemoteAddr().String(), "whichever was first")
		conn.Close()
	}
	require.ElementsMatch(t, []string{"127.0.0.1", "127.0.0.2"}, rs.begun["ensemble."])
	_, err = rs.dial(ctx, "tcp4", "missing.:"+port)
	require.ErrorAs(t, err, new(*net.DNSError))
	_, err = rs.dial(ctx, "tcp4", "ensemble.")
	require.ErrorContains(t, err, "missing port in address")
}
