package lock_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// refusing returns the address of a server that takes connections and does that with each.
func refusing(t *testing.T, does func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				does(conn)
				conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// All of these were an EOF, or a deadline.
func TestConnectSaysWhatTheServerDidThatItHasNoSessionOf(t *testing.T) {
	t.Parallel()
	one := apachezk.Run(t, func(c *apachezk.Config) { c.Settings = map[string]string{"maxClientCnxns": "1"} }).Server(0)
	s, err := zklock.Connect(within(t, patience), []string{one.Addr()}, 10*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	lonely := apachezk.Run(t, func(c *apachezk.Config) { c.Servers, c.JVM = 2, []string{"-Dreadonlymode.enabled=true"} })
	lonely.Server(1).Kill()
	anybody := zklock.WithTLS(&tls.Config{InsecureSkipVerify: true})
	const hungUp = `hung up \d+ ms after the conn.*, without an answer.*: it may .*`
	for name, tc := range map[string]struct {
		addr string
		opts []zklock.SessionOption
		says string
	}{
		"maxClientCnxns is reached":      {one.Addr(), nil, hungUp + "maxClientCnxns"},
		"no majority, read-only":         {lonely.Server(0).Addr(), nil, hungUp + "no majority"},
		"a proxy without a backend":      {refusing(t, func(net.Conn) {}), nil, hungUp + "proxy without a server"},
		"a silent server":                {refusing(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 100)); <-t.Context().Done() }), nil, "has not answered the connect request"},
		"TLS at a plain port":            {lonely.Server(0).Addr(), []zklock.SessionOption{anybody}, "the TLS hello"},
		"TLS at a port that says things": {refusing(t, func(c net.Conn) { _, _ = c.Write([]byte("220 smtp\r\n")) }), []zklock.SessionOption{anybody}, "has answered the TLS hello without TLS"},
		"a slow TLS handshake":           {refusing(t, func(net.Conn) { <-t.Context().Done() }), []zklock.SessionOption{anybody}, `has not answered the TLS hello for \d+ ms`},
		"a plain client at a TLS port": {refusing(t, func(c net.Conn) {
			_ = tls.Server(c, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, net.ErrClosed }}).Handshake()
		}), nil, "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := zklock.Connect(within(t, 3*time.Second), []string{tc.addr}, 10*time.Second, tc.opts...)
			if err == nil {
				s.Close()
			}
			require.Error(t, err)
			t.Log(err)
			require.Regexp(t, tc.addr+" "+`.*`+tc.says, err.Error())
		})
	}
}
