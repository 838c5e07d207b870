package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// The password is renewed while the lock is held: its holder logs in by the new one, and is still the
// one for whom the nodes are.
func TestACommandLogsInBySASL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	users := func(password string) string {
		return file("jaas.conf", `Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_ann="`+password+`" user_bob="b"; };`)
	}
	jaas := users("one")
	server := apachezk.Run(t, func(c *apachezk.Config) {
		c.JVM = []string{"-Djava.security.auth.login.config=" + jaas, "-Dzookeeper.fips-mode=false"}
		c.Settings = map[string]string{"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
	}).Server(0)
	link := faultproxy.Run(t, server.Addr())
	password := file("password", "one\n")
	at := &site{t: t, addr: link.Addr(), path: "/sasl"}
	as := func(user, password string, args ...string) []string {
		return append([]string{"--sasl-user", user, "--sasl-password-file", password}, args...)
	}
	p := at.holder(as("ann", password, "--session-timeout", "60s", "--acl", "creator")...)
	require.Equal(t, 77, at.run(append(as("bob", file("bob", "b")), "-n", "--", "true")...).exit())
	wrong := at.run(append(as("ann", file("wrong", "guess")), "--", "true")...)
	require.Equal(t, 77, wrong.exit())
	require.Contains(t, wrong.stderr.String(), "SASL login by DIGEST-MD5: the server refuses the session's credentials")
	require.NotContains(t, wrong.stderr.String(), "guess")

	users("two")
	file("password", "two")
	require.NoError(t, server.Restart(t.Context()))
	require.NoError(t, os.Chmod(password, 0o644))
	reconnect(t, link)
	p.awaitMessage("the SASL login was not renewed")
	require.NoError(t, os.Chmod(password, 0o600))

	s, err := zklock.Connect(t.Context(), []string{server.Addr()}, 20*time.Second, zklock.WithSASL(zklock.DigestMD5("ann", "two")))
	require.NoError(t, err)
	defer s.Close()
	nodes, _, err := s.Conn().Children(at.path)
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	acl, _, err := s.Conn().GetACL(at.path + "/" + nodes[0])
	require.NoError(t, err)
	require.Equal(t, []zk.ACL{{Perms: zk.PermAll, Scheme: "sasl", ID: "ann"}}, acl)
	p.stdin.Close()
	require.Equal(t, 0, p.exit(), "%s", p.stderr)
	nodes, _, err = s.Conn().Children(at.path)
	require.NoError(t, err)
	require.Empty(t, nodes)
}
