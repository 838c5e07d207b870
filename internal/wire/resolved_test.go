package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestANameIsDialledAtAnotherOfItsAddressesEachTime(t *testing.T) {
	rs, three, two := new(resolved), []string{"1", "2", "3"}, []string{"4", "5"}
	require.Equal(t, []string{"1", "2", "3"}, rs.inTurn("three", three))
	require.Equal(t, []string{"4", "5"}, rs.inTurn("two", two))
	require.Equal(t, []string{"2", "3", "1"}, rs.inTurn("three", three))
	require.Equal(t, []string{"3", "1", "2"}, rs.inTurn("three", three))
	require.Equal(t, []string{"5", "4"}, rs.inTurn("two", two))
	require.Equal(t, []string{"1", "2", "3"}, rs.inTurn("three", three))
	require.Equal(t, []string{"6"}, rs.inTurn("one", []string{"6"}))
	require.Empty(t, rs.inTurn("none", nil))
	require.NotContains(t, rs.turns, "one", "most names have one address, and their number has no bound")
}

func TestEachAddressOfANameHasItsShareOfTheTime(t *testing.T) {
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		addresses []string // what each does
		takes     time.Duration
		err       error
	}{
		"the first serves":           {[]string{"serves", "hangs"}, 0, nil},
		"the first hangs":            {[]string{"hangs", "serves", "hangs"}, 200 * ms, nil},
		"one refuses, one hangs":     {[]string{"refuses", "hangs", "serves"}, 300 * ms, nil},
		"all hang":                   {[]string{"hangs", "hangs"}, 600 * ms, context.DeadlineExceeded},
		"all refuse, the first says": {[]string{"refuses", "hangs"}, 600 * ms, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 600*ms)
				defer cancel()
				began := time.Now()
				conn, err := dialEach(ctx, tc.addresses, func(ctx context.Context, address string) (net.Conn, error) {
					switch address {
					case "hangs":
						<-ctx.Done()
						return nil, ctx.Err()
					case "refuses":
						return nil, refused
					}
					conn, _ := net.Pipe()
					return conn, nil
				})
				require.ErrorIs(t, err, tc.err)
				require.Equal(t, tc.err == nil, conn != nil)
				require.Equal(t, tc.takes, time.Since(began))
			})
		})
	}
}
