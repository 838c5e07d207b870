package lock_test

import (
	"crypto/tls"
	"errors"
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
