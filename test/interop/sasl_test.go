package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// All log in by SASL as ann, and make nodes that are for ann alone.
func TestOurLockAndCuratorsExcludeEachOtherByTheSameLogin(t *testing.T) {
	const password = "secret"
	jaas := filepath.Join(t.TempDir(), "jaas.conf")
	require.NoError(t, os.WriteFile(jaas, fmt.Appendf(nil, `
Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_ann="%[1]s"; };
Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="ann" password="%[1]s"; };
`, password), 0o600))
	f := newFleet(t, func(c *apachezk.Config) {
		c.JVM = []string{"-Djava.security.auth.login.config=" + jaas, "-Dzookeeper.fips-mode=false"}
		c.Settings = map[string]string{
			"authProvider.1":               "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
			"sessionRequireClientSASLAuth": "true",
		}
	})
	f.env = []string{passwordOfAnn + "=" + password, "JDK_JAVA_OPTIONS=-Djava.security.auth.login.config=" + jaas}
	f.add(3, ours, "creator", each/2)
	f.add(3, curator, "creator", each/2)
	f.run()
	f.requireNoneLost()
	f.requireFair()

	s, err := zklock.Connect(t.Context(), []string{f.addr}, sessionTimeout, zklock.WithSASL(zklock.DigestMD5("ann", password)))
	require.NoError(t, err)
	defer s.Close()
	acl, _, err := s.Conn().GetACL("/lock")
	require.NoError(t, err)
	require.Equal(t, []zk.ACL{{Perms: zk.PermAll, Scheme: "sasl", ID: "ann"}}, acl)
}
