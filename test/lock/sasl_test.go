package lock_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// users are the passwords that servers have, by name.
type users map[string]string

// write writes the file that servers read when they start.
func (u users) write(t *testing.T, file string) {
	t.Helper()
	lines := []string{"org.apache.zookeeper.server.auth.DigestLoginModule required"}
	for _, name := range slices.Sorted(maps.Keys(u)) {
		lines = append(lines, fmt.Sprintf("user_%s=%q", name, u[name]))
	}
	require.NoError(t, os.WriteFile(file, []byte("Server {\n"+strings.Join(lines, "\n")+";\n};\n"), 0o600))
}

// saslServer starts a server that knows the users, and returns what it reads them from.
func saslServer(t *testing.T, known users, settings map[string]string) (server *apachezk.Server, jaas string) {
	t.Helper()
	jaas = filepath.Join(t.TempDir(), "jaas.conf")
	known.write(t, jaas)
	ensemble := apachezk.Run(t, func(c *apachezk.Config) {
		c.JVM = append(c.JVM, "-Djava.security.auth.login.config="+jaas, "-Dzookeeper.fips-mode=false")
		c.Settings = map[string]string{"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
		maps.Copy(c.Settings, settings)
	})
	return ensemble.Server(0), jaas
}

func asUser(name, password string) zklock.SessionOption {
	return zklock.WithSASL(zklock.DigestMD5(name, password))
}

// saslACL keeps a node for that user.
func saslACL(name string) []zk.ACL { return []zk.ACL{{Perms: zk.PermAll, Scheme: "sasl", ID: name}} }

func TestASessionLogsInBySASLBeforeAllElse(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"servers that ask nobody":        nil,
		"servers that demand SASL":       {"sessionRequireClientSASLAuth": "true"},
		"servers that demand of several": {"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"},
	} {
		extra := "é" // ISO 8859-1
		if settings != nil {
			extra = "☃" // and more
		}
		secret := `"sä\c=r,et" ` + extra
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _ := saslServer(t, users{"ann": secret, "bob": "other"}, settings)
			at := &site{t: t, addr: server.Addr(), path: "/sasl"}
			s := at.sessionVia(at.addr, longSession, asUser("ann", secret))
			l := at.locker(s, zklock.WithACL(saslACL("ann")))
			require.NoError(t, l.LockContext(within(t, patience)))
			node := l.Held().Node()
			require.NoError(t, l.Held().Err())
			require.NoError(t, s.Ping(within(t, patience)))

			// All of the session is ann's.
			own, err := s.Conn().Create("/own", nil, 0, zk.AuthACL(zk.PermAll))
			require.NoError(t, err)
			acl, _, err := s.Conn().GetACL(own)
			require.NoError(t, err)
			require.Equal(t, saslACL("ann"), acl)

			strangers := []*zklock.Session{at.sessionVia(at.addr, longSession, asUser("bob", "other"))}
			if settings == nil {
				strangers = append(strangers, at.sessionVia(at.addr, longSession))
			}
			for _, stranger := range strangers {
				require.ErrorIs(t, at.locker(stranger).LockContext(within(t, patience)), zk.ErrNoAuth)
				require.ErrorIs(t, stranger.Conn().Delete(node, -1), zk.ErrNoAuth)
			}
			require.NoError(t, l.UnlockContext(within(t, patience)))

			var connects atomic.Int32
			proxy := faultproxy.Run(t, at.addr)
			proxy.OnRequest(func(op int32, _ []byte) {
				if op == faultproxy.OpConnect {
					connects.Add(1)
				}
			})
			_, err = zklock.Connect(within(t, patience), []string{proxy.Addr()}, longSession, asUser("ann", "guess"))
			require.ErrorIs(t, err, zk.ErrAuthFailed)
			require.ErrorContains(t, err, "DIGEST-MD5")
			require.ErrorContains(t, err, proxy.Addr())
			require.NotContains(t, err.Error(), "guess", "the secret is kept")
			require.EqualValues(t, 1, connects.Load())
		})
	}
}

func TestAServerWithoutSASLIsNoReasonToGoOnWithoutIt(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	_, err := zklock.Connect(within(t, patience), []string{at.addr}, longSession, asUser("ann", "secret"))
	require.ErrorIs(t, err, zk.ErrAuthFailed)
	require.ErrorContains(t, err, at.addr+", SASL login by DIGEST-MD5: the server has no challenge")
}

// The hold outlives cuts and the server's restart with another password, for the login is asked for anew.
func TestASASLLoginIsRepeatedAndRenewedOverEachConnection(t *testing.T) {
	t.Parallel()
	known := users{"ann": "old"}
	server, jaas := saslServer(t, known, map[string]string{"sessionRequireClientSASLAuth": "true"})
	at := &site{t: t, addr: server.Addr(), path: "/sasl", proxy: faultproxy.Run(t, server.Addr())}
	var password atomic.Value
	password.Store("old")
	s := at.sessionVia(at.proxy.Addr(), time.Minute, zklock.WithSASLProvider(func() (zklock.SASLMechanism, error) {
		return zklock.DigestMD5("ann", password.Load().(string)), nil
	}))
	l := at.locker(s, zklock.WithACL(saslACL("ann")))
	require.NoError(t, l.LockContext(within(t, patience)))
	h := l.Held()
	for range 3 {
		at.proxy.Cut()
		require.NoError(t, s.Ping(within(t, patience)))
		own, err := s.Conn().Create("/own", nil, zk.FlagEphemeral|zk.FlagSequence, zk.AuthACL(zk.PermAll))
		require.NoError(t, err)
		acl, _, err := s.Conn().GetACL(own)
		require.NoError(t, err)
		require.Equal(t, saslACL("ann"), acl)
	}
	require.NoError(t, h.Err())

	known["ann"] = "new"
	known.write(t, jaas)
	require.NoError(t, server.Restart(within(t, patience)))
	var refusal error
	eventually(t, "the old password to be refused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		refusal = s.Ping(ctx)
		require.ErrorIs(t, refusal, context.DeadlineExceeded)
		return strings.Contains(refusal.Error(), "the server refuses")
	})
	require.ErrorIs(t, refusal, zk.ErrAuthFailed)
	require.ErrorContains(t, refusal, at.proxy.Addr()+", SASL login by DIGEST-MD5")
	require.NoError(t, h.Err(), "nothing is decided by it but that the lease runs")
	password.Store("new")
	require.NoError(t, s.Ping(within(t, patience)))
	require.NoError(t, h.Err())
	require.NoError(t, l.UnlockContext(within(t, patience)))
}
