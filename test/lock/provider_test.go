package lock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestASessionIsWhoItsProviderSaysWhenItConnects(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		now, failure := []string{"ann"}, error(nil)
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(b.server.Dial),
			zklock.WithAuth("digest", []byte("team:team")),
			zklock.WithAuthProvider(func() (all []zklock.Credential, err error) {
				for _, name := range now {
					all = append(all, zklock.Credential{Scheme: "digest", Secret: []byte(name + ":" + name)})
				}
				return all, failure
			}))
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.Conn().AddAuth("digest", []byte("own:own")))
		nodes := 0
		isNow := func(names ...string) {
			t.Helper()
			nodes++
			node, err := s.Conn().Create("/p", nil, zk.FlagEphemeral|zk.FlagSequence, zk.AuthACL(zk.PermAll))
			require.NoError(t, err)
			acl, _, err := s.Conn().GetACL(node)
			require.NoError(t, err)
			var want []zk.ACL
			for _, name := range names {
				want = append(want, zk.DigestACL(zk.PermAll, name, name)...)
			}
			require.ElementsMatch(t, want, acl)
		}
		reconnect := func() {
			b.server.CutSession(s.ID())
			time.Sleep(time.Second)
			synctest.Wait()
		}
		isNow("team", "ann", "own")
		now = []string{"bob"}
		isNow("team", "ann", "own") // as long as the connection stands
		reconnect()
		isNow("team", "bob", "own")
		now = []string{"bob", "cyd", "dan"}
		reconnect()
		isNow("team", "bob", "cyd", "dan", "own")
		now, failure = nil, errors.New("no such file")
		reconnect()
		isNow("team", "bob", "cyd", "dan", "own")
		now, failure = []string{"eve"}, nil
		reconnect()
		isNow("team", "eve", "own")
	})
}

// demanding dials the server through TLS that wants a certificate of the authority, which has an hour.
func (b *bubble) demanding(by func() *authority) zklock.SessionOption {
	return zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		plain, err := b.server.Dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		a := by()
		config := a.client("server")
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
		config.MaxVersion = tls.VersionTLS12 // in 1.3 both write when the server judges, and a pipe has no room
		ours, theirs := net.Pipe()
		secure := tls.Server(theirs, config)
		go func() {
			defer plain.Close()
			_, _ = io.Copy(plain, secure)
		}()
		go func() {
			defer theirs.Close()
			_, _ = io.Copy(secure, plain)
		}()
		return ours, nil
	})
}

// A connection stands on, and the next one needs a certificate that is good then.
func TestAHoldOutlivesItsCertificateIfThatIsRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var by atomic.Pointer[authority]
		by.Store(newAuthority(t, "first"))
		var now atomic.Pointer[tls.Config]
		renew := func() {
			config := by.Load().client("ann")
			config.ServerName = "127.0.0.1"
			now.Store(config)
		}
		renew()
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, b.demanding(by.Load),
			zklock.WithTLSProvider(func() (*tls.Config, error) { return now.Load(), nil }))
		require.NoError(t, err)
		defer s.Close()
		h := must(b.locker(s).Acquire(t.Context()))
		ping := func(limit time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			return s.Ping(ctx)
		}
		refused := func(why string) {
			t.Helper()
			b.server.CutSession(s.ID())
			require.ErrorContains(t, ping(time.Second), why)
		}
		renewed := func() {
			t.Helper()
			renew()
			require.NoError(t, ping(prompt))
			require.NoError(t, h.Err())
		}
		for range 3 {
			time.Sleep(2 * time.Hour)
			require.True(t, h.Valid())
			refused("expired certificate")
			renewed()
		}
		by.Store(newAuthority(t, "second"))
		refused("certificate signed by unknown authority")
		renewed()
		time.Sleep(2 * time.Hour)
		refused("expired certificate")
		<-h.Lost()
		require.ErrorContains(t, h.Err(), "expired certificate")
	})
}

func TestAProviderThatHasNothingFailsConnect(t *testing.T) {
	broken := errors.New("no such file")
	for name, c := range map[string]struct {
		option zklock.SessionOption
		want   string
	}{
		"no credentials":            {zklock.WithAuthProvider(func() ([]zklock.Credential, error) { return nil, nil }), "WithAuthProvider: it has returned no credentials"},
		"no scheme":                 {zklock.WithAuthProvider(func() ([]zklock.Credential, error) { return make([]zklock.Credential, 1), nil }), "the scheme is empty"},
		"failed":                    {zklock.WithAuthProvider(func() ([]zklock.Credential, error) { return nil, broken }), "no such file"},
		"nil":                       {zklock.WithAuthProvider(nil), "WithAuthProvider: the provider is nil"},
		"TLS that is nil":           {zklock.WithTLSProvider(nil), "WithTLSProvider: the provider is nil"},
		"TLS that is not to be had": {zklock.WithTLSProvider(func() (*tls.Config, error) { return nil, broken }), "no such file"},
	} {
		_, err := zklock.Connect(t.Context(), []string{"127.0.0.1:1"}, time.Second, c.option)
		require.ErrorContains(t, err, c.want, name)
	}
}
