package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
)

// certificate returns one for example.com, and who vouches for it.
func certificate(t *testing.T) (own tls.Certificate, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0], s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
}

// always provides the same.
func always[T any](v T) *Provided[T] {
	p, _ := Provide("", func() (T, error) { return v, nil })
	return p
}

func TestAServerHasToBeWhomItWasDialledAsUnlessTheUserSaysOtherwise(t *testing.T) {
	own, roots := certificate(t)
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		config  *tls.Config
		address string
		dial    error
		asked   string // the server that was asked for; "" for none
		fails   string // why; "" if it does not
	}{
		"as it was dialled":             {&tls.Config{RootCAs: roots}, "example.com:2281", nil, "example.com", ""},
		"somebody else":                 {&tls.Config{RootCAs: roots}, "zk1:2281", nil, "zk1", "not zk1"},
		"whom nobody vouches for":       {&tls.Config{}, "example.com:2281", nil, "example.com", "unknown authority"},
		"by the name that the user has": {&tls.Config{RootCAs: roots, ServerName: "example.com"}, "zk1:2281", nil, "example.com", ""},
		"whoever it is":                 {&tls.Config{InsecureSkipVerify: true}, "zk1:2281", nil, "zk1", ""},
		"whoever it is, without a port": {&tls.Config{InsecureSkipVerify: true}, "zk1", nil, "", ""},
		"whoever it is, by a name":      {&tls.Config{InsecureSkipVerify: true, ServerName: "any"}, "zk1:2281", nil, "any", ""},
		"an address without a port":     {&tls.Config{RootCAs: roots}, "example.com", nil, "", "missing port in address"},
		"nobody":                        {&tls.Config{RootCAs: roots}, "example.com:2281", refused, "", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, closed := "", make(chan struct{})
			dial := func(string, string, time.Duration) (net.Conn, error) {
				if tc.dial != nil {
					return nil, tc.dial
				}
				ours, theirs := net.Pipe()
				go func() {
					defer close(closed)
					server := tls.Server(theirs, &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
						asked = hello.ServerName
						return &own, nil
					}})
					_, _ = io.Copy(server, server) // until the other end is closed
					_ = theirs.Close()
				}()
				return ours, nil
			}
			d := dialerOf(t.Context(), pressed{timeout: 8000 * ms})
			d.Options = Options{Hosts: d.Hosts, Dial: dial, TLS: always(tc.config), Log: d.Log, Clock: new(clock.Clock)}
			name := tc.config.ServerName
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := d.open(ctx, "tcp", tc.address)
			require.Equal(t, name, tc.config.ServerName, "the user's configuration stays as it is")
			if tc.fails != "" {
				require.ErrorContains(t, err, tc.fails)
				require.Nil(t, conn)
			} else {
				require.NoError(t, err)
				_, err = conn.Write([]byte("echo"))
				require.NoError(t, err)
				reads(t, conn, []byte("echo"))
				require.NoError(t, conn.Close())
			}
			if tc.dial != nil {
				require.ErrorIs(t, err, tc.dial)
				return
			}
			<-closed // whatever has failed
			require.Equal(t, tc.asked, asked)
		})
	}
}

func TestAServerThatDoesNotTakeTheTLSHelloIsToldOfByWhatItDid(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.EPIPE}
	for name, tc := range map[string]struct {
		dial error
		does func(server net.Conn)
		says string
	}{
		"it hangs up on the connection": {dial: refused, says: "a:2281 hung up 0 ms after the connection was made"},
		"it hangs up":                   {does: func(server net.Conn) { server.Close() }, says: "a:2281 hung up 0 ms after the TLS hello"},
		"it hangs":                      {does: func(net.Conn) {}, says: "a:2281 has not answered the TLS hello for 500 ms"},
		"it answers without TLS": {
			does: func(server net.Conn) { _, _ = server.Write([]byte("HTTP/1.1 400 Bad Request")) },
			says: "a:2281 has answered the TLS hello without TLS: that may be its port for plain connections",
		},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			p := plugged(t, lively())
			p.TLS = always(&tls.Config{InsecureSkipVerify: true})
			p.Dial = func(network, address string, limit time.Duration) (net.Conn, error) {
				if tc.dial != nil {
					return nil, tc.dial
				}
				ours, err := p.dial(network, address, limit)
				server := p.last.server
				go func() {
					_, _ = server.Read(make([]byte, 4096))
					tc.does(server)
				}()
				return ours, err
			}
			_, err := p.Connect("tcp", "a:2281", 500*ms)
			require.IsType(t, Attempt{}, err)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// The time that a dial has is for both.
func TestAServerThatDoesNotAnswerTheHandshakeOfTLSIsLeftInTime(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		s, p := &failing{pressed: pressed{id: 1, timeout: 8000 * ms}}, new(pipes)
		d := NewDialer(ctx, s, Options{Hosts: NewHosts(), Log: s, Clock: new(clock.Clock), Dial: p.dial, TLS: always(&tls.Config{InsecureSkipVerify: true})})
		require.NoError(t, d.Hosts.Init([]string{"a"}))
		begun := time.Now()
		_, err := d.Connect("tcp", "a:2281", 500*ms)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 500*ms, time.Since(begun))
		require.False(t, p.isOpen(0))
		require.EqualValues(t, 1, d.slow.Load())
		require.Equal(t, []error{err}, s.heard)

		d.served()
		time.AfterFunc(100*ms, end)
		begun = time.Now()
		requireItsOwn(t, d, "a:2281")
		require.Equal(t, 100*ms, time.Since(begun), "the session's end does not wait for it")
		require.False(t, p.isOpen(1))
	})
}

// Nobody reads at the other end: a farewell would wait there.
func TestASecureConnectionIsClosedAtOnce(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := secureConn{tls.Client(ours, &tls.Config{InsecureSkipVerify: true})}
	require.NoError(t, c.Close())
	_, err := ours.Write(nil)
	require.Error(t, err)
}
