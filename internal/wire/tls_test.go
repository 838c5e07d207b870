package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
)

// certificate returns one for example.com, and who vouches for it.
func certificate(t *testing.T) (own tls.Certificate, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0], s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
}

func TestAServerHasToBeWhomItWasDialledAsUnlessTheUserSaysOtherwise(t *testing.T) {
	own, roots := certificate(t)
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		config  *tls.Config
		address string
		dial    error
		asked   string // the server that was asked for; "" for none
		fails   bool
	}{
		"as it was dialled":             {&tls.Config{RootCAs: roots}, "example.com:2281", nil, "example.com", false},
		"somebody else":                 {&tls.Config{RootCAs: roots}, "zk1:2281", nil, "zk1", true},
		"whom nobody vouches for":       {&tls.Config{}, "example.com:2281", nil, "example.com", true},
		"by the name that the user has": {&tls.Config{RootCAs: roots, ServerName: "example.com"}, "zk1:2281", nil, "example.com", false},
		"whoever it is":                 {&tls.Config{InsecureSkipVerify: true}, "zk1:2281", nil, "zk1", false},
		"whoever it is, without a port": {&tls.Config{InsecureSkipVerify: true}, "zk1", nil, "", false},
		"whoever it is, by a name":      {&tls.Config{InsecureSkipVerify: true, ServerName: "any"}, "zk1:2281", nil, "any", false},
		"an address without a port":     {&tls.Config{RootCAs: roots}, "example.com", nil, "", true},
		"nobody":                        {&tls.Config{RootCAs: roots}, "example.com:2281", refused, "", true},
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
					_, _ = server.Read(make([]byte, 1)) // until the other end is closed
					_ = theirs.Close()
				}()
				return ours, nil
			}
			d := dialerOf(t.Context(), pressed{timeout: 8000 * ms})
			d.Options = Options{Hosts: d.Hosts, Dial: dial, TLS: tc.config, Log: d.Log, Clock: new(clock.Clock)}
			name := tc.config.ServerName
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := d.open(ctx, "tcp", tc.address)
			require.Equal(t, name, tc.config.ServerName, "the user's configuration stays as it is")
			require.Equal(t, tc.fails, err != nil, "%v", err)
			if tc.fails {
				require.Nil(t, conn)
			} else {
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

// Nobody reads at the other end: a farewell would wait there.
func TestASecureConnectionIsClosedAtOnce(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := secureConn{tls.Client(ours, &tls.Config{InsecureSkipVerify: true})}
	require.NoError(t, c.Close())
	_, err := ours.Write(nil)
	require.Error(t, err)
}
