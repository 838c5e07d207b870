package wire

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
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
}

func TestTheNextAddressOfANameIsDialledIfOneRefusesInTime(t *testing.T) {
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		addresses []string // what each does
		dials     int
		err       error
	}{
		"the first serves":  {[]string{"serves", "refuses"}, 1, nil},
		"the first refuses": {[]string{"refuses", "serves", "refuses"}, 2, nil},
		"all refuse":        {[]string{"refuses", "breaks", "breaks"}, 3, refused},
		"the first hangs":   {[]string{"hangs", "serves"}, 1, context.Canceled},
		"there is none":     {nil, 0, &net.AddrError{Err: "there is no address"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			dials := 0
			conn, err := dialEach(ctx, tc.addresses, func(address string) (net.Conn, error) {
				dials++
				switch address {
				case "hangs":
					cancel()
					return nil, ctx.Err()
				case "refuses":
					return nil, refused
				case "breaks":
					return nil, errors.New("broken")
				}
				conn, _ := net.Pipe()
				return conn, nil
			})
			cancel()
			require.Equal(t, tc.err, err)
			require.Equal(t, tc.err == nil, conn != nil)
			require.Equal(t, tc.dials, dials)
		})
	}
}
