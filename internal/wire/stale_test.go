package wire

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// placed is a connection to an address.
type placed struct {
	net.Conn
	at net.Addr
}

func (p placed) RemoteAddr() net.Addr { return p.at }

func TestOfAStaleServerThatWasDialledByANameOfSeveralItsAddressIsShunned(t *testing.T) {
	const of, other = "10.0.0.1", "10.0.0.2"
	for name, tc := range map[string]struct {
		begun   []string // the addresses that its name has had
		called  string
		address bool // it is what is shunned
	}{
		"one of several": {[]string{of, other}, of + ":2181", true},
		"the only one":   {nil, "zk:2181", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := plugged(t, lively()).Dialer
			if tc.begun != nil {
				d.names.begun = map[string][]string{"zk": tc.begun}
			}
			ours, theirs := net.Pipe()
			defer theirs.Close()
			l := newLink(d, placed{ours, &net.TCPAddr{IP: net.ParseIP(of), Port: 2181}}, "zk:2181")
			require.Equal(t, tc.called, l.Name())
			l.Distrust(Stale{})
			is, _ := d.names.shunned.has(of)
			require.Equal(t, tc.address, is)
			is, _ = d.shunned.has("zk:2181")
			require.Equal(t, !tc.address, is)
			d.Await()
		})
	}
}
