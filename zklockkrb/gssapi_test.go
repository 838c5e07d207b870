//go:build unix

package zklockkrb_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zklockkrb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	service  = "zookeeper/localhost"
	timeout  = 20 * time.Second
	patience = 30 * time.Second
)

// server starts a ZooKeeper that lets those in who log in by k. Its clients are to call it localhost.
func server(t *testing.T, k *kdc) *apachezk.Server {
	t.Helper()
	jaas := filepath.Join(t.TempDir(), "jaas.conf")
	require.NoError(t, os.WriteFile(jaas, []byte(`Server {
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true useTicketCache=false
  keyTab="`+k.keytab(service)+`" principal="`+service+"@"+realm+`";
};
`), 0o600))
	return apachezk.Run(t, func(c *apachezk.Config) {
		c.JVM = []string{"-Djava.security.auth.login.config=" + jaas, "-Djava.security.krb5.conf=" + k.file("krb5.conf")}
		c.Settings = map[string]string{
			"authProvider.1":               "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
			"sessionRequireClientSASLAuth": "true",
		}
	}).Server(0)
}

// local is an address as servers are to be called.
func local(t *testing.T, addr string) string {
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return net.JoinHostPort("localhost", port)
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, addr string, who *client.Client, opts ...zklockkrb.Option) (*zklock.Session, error) {
	s, err := zklock.Connect(within(t, patience), []string{addr}, timeout, zklock.WithSASL(zklockkrb.GSSAPI(who, opts...)))
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func TestSessionsLogInByKerberos(t *testing.T) {
	k := newKDC(t, service, "ledger", "stranger", "zookeeper/elsewhere")
	proxy := faultproxy.Run(t, server(t, k).Addr())
	addr := local(t, proxy.Addr())
	s, err := connect(t, addr, k.client("ledger"))
	require.NoError(t, err)
	mine := []zk.ACL{{Perms: zk.PermAll, Scheme: "sasl", ID: "ledger@" + realm}}
	mu, err := zklock.New(s, "/locks/ledger", zklock.WithACL(mine))
	require.NoError(t, err)
	require.NoError(t, mu.LockContext(within(t, patience)))
	hold := mu.Held()

	other, err := connect(t, addr, k.client("stranger"))
	require.NoError(t, err)
	theirs, err := zklock.New(other, "/locks/ledger")
	require.NoError(t, err)
	require.ErrorIs(t, theirs.LockContext(within(t, patience)), zk.ErrNoAuth)

	// The ticket is there: another login needs no KDC.
	k.stop()
	for range 3 {
		proxy.Cut()
		require.NoError(t, s.Ping(within(t, patience)))
		node, err := s.Conn().Create("/own", nil, zk.FlagEphemeral|zk.FlagSequence, zk.AuthACL(zk.PermAll))
		require.NoError(t, err)
		acl, _, err := s.Conn().GetACL(node)
		require.NoError(t, err)
		require.Equal(t, mine, acl)
	}
	require.NoError(t, hold.Err())
	require.NoError(t, mu.UnlockContext(within(t, patience)))

	waits := make(chan error, 1)
	go func() {
		_, err := connect(t, addr, k.client("ledger"))
		waits <- err
	}()
	_, err = zklock.Connect(within(t, time.Second), []string{addr}, timeout, zklock.WithSASL(zklockkrb.GSSAPI(k.client("ledger"))))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, zk.ErrAuthFailed)
	require.ErrorContains(t, err, addr+", SASL login by GSSAPI: a ticket for "+service)
	require.Empty(t, waits)
	k.start()
	require.NoError(t, <-waits)

	for name, c := range map[string]struct {
		who  *client.Client
		host string
		says string
	}{
		"nobody":                        {client.NewWithPassword("nobody", realm, "secret", k.config()), "localhost", "KDC_ERR_C_PRINCIPAL_UNKNOWN"},
		"a wrong password":              {client.NewWithPassword("ledger", realm, "secret", k.config()), "localhost", "GSSAPI: a ticket for zookeeper/localhost"},
		"a server that the KDC has not": {k.client("ledger"), "unknown", "KDC_ERR_S_PRINCIPAL_UNKNOWN"},
		"another server's ticket":       {k.client("ledger"), "elsewhere", "the server refuses the session's credentials"},
	} {
		_, err := connect(t, addr, c.who, zklockkrb.WithPrincipal(func(host string) string {
			require.Equal(t, "localhost", host)
			return "zookeeper/" + c.host
		}))
		require.ErrorIs(t, err, zk.ErrAuthFailed, name)
		require.ErrorContains(t, err, addr+", SASL login by GSSAPI", name)
		require.ErrorContains(t, err, c.says, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
}
