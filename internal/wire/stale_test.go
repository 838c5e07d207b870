package wire

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
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
			a := lively()
			d := plugged(t, a).Dialer
			if tc.begun != nil {
				d.names.begun = map[string][]string{"zk": tc.begun}
			}
			ours, theirs := net.Pipe()
			defer theirs.Close()
			l := newLink(d, placed{ours, &net.TCPAddr{IP: net.ParseIP(of), Port: 2181}}, "zk:2181")
			require.Equal(t, tc.called, l.Name())
			l.Distrust(Stale{})
			require.Equal(t, []string{"ended", "warns"}, a.all())
			l.Distrust(Stale{})
			require.Empty(t, a.all(), "it is told once")
			is, _ := d.names.shunned.has(of)
			require.Equal(t, tc.address, is)
			is, _ = d.shunned.has("zk:2181")
			require.Equal(t, !tc.address, is)
			d.Await()
		})
	}
}

func TestAStaleServerIsDialledWhenTheOthersHaveBeen(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		p := plugged(t, lively())
		p.shunned.add("a:2181")
		shuns := func(server string) bool {
			_, err := p.Connect("tcp", server, time.Second)
			return err == errShunned
		}
		require.True(t, shuns("a:2181"))
		require.False(t, shuns("b:2181"))
		require.True(t, shuns("a:2181"))
		require.False(t, shuns("c:2181"))
		require.False(t, shuns("a:2181"), "there is no other")
		require.False(t, shuns("b:2181"))
		l := &line{Link: p.latest, server: p.last.server}
		go l.Write(ask) //nolint:errcheck // it is read
		_, err := io.ReadFull(l.server, make([]byte, len(ask)))
		require.NoError(t, err)
		go l.server.Write(hello(1)) //nolint:errcheck // likewise
		reads(t, l, hello(1))
		require.True(t, shuns("a:2181"), "another serves")
		p.Cut()
	})
}

func TestAStaleServerSaysWhereItDiffers(t *testing.T) {
	const rest = ": its data is not the ensemble's, and has to be copied from the leader anew"
	require.EqualError(t, Stale{Server: "zk1:2181", Path: "/a"}, "the server zk1:2181 lacks /a, which the leader has"+rest)
	require.EqualError(t, Stale{Server: "zk1:2181", Path: "/a", Keeps: true}, "the server zk1:2181 shows /a, which the leader has not"+rest)
}
