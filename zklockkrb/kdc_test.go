//go:build unix

package zklockkrb_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/stretchr/testify/require"
)

const realm = "ZKLOCK.TEST"

// kdc is MIT's, of a realm that is made for a test, on the loopback interface.
type kdc struct {
	t    *testing.T
	dir  string
	port int
	run  *exec.Cmd
}

// newKDC starts one that knows those principals, each with a keytab of its name.
func newKDC(t *testing.T, principals ...string) *kdc {
	t.Helper()
	for _, tool := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs a real KDC, Debian's packages krb5-kdc and krb5-admin-server: %v", err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	k := &kdc{t: t, dir: t.TempDir(), port: free.Addr().(*net.TCPAddr).Port}
	require.NoError(t, free.Close())
	k.write("krb5.conf", `[libdefaults]
default_realm = %[1]s
dns_lookup_kdc = false
dns_lookup_realm = false
udp_preference_limit = 1
[realms]
%[1]s = {
  kdc = 127.0.0.1:%[2]d
}
`, realm, k.port)
	k.write("kdc.conf", `[kdcdefaults]
kdc_listen = 127.0.0.1:%[2]d
kdc_tcp_listen = 127.0.0.1:%[2]d
[realms]
%[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  acl_file = %[3]s/acl
}
`, realm, k.port, k.dir)
	k.tool("kdb5_util", "create", "-s", "-r", realm, "-P", "master")
	for _, name := range principals {
		k.tool("kadmin.local", "-r", realm, "-q", "addprinc -randkey "+name)
		k.tool("kadmin.local", "-r", realm, "-q", "ktadd -k "+k.keytab(name)+" "+name)
	}
	k.start()
	t.Cleanup(k.stop)
	return k
}

func (k *kdc) file(name string) string { return filepath.Join(k.dir, name) }

func (k *kdc) keytab(name string) string {
	return k.file(strings.ReplaceAll(name, "/", "-") + ".keytab")
}

func (k *kdc) write(name, format string, args ...any) {
	k.t.Helper()
	require.NoError(k.t, os.WriteFile(k.file(name), fmt.Appendf(nil, format, args...), 0o600))
}

func (k *kdc) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.file("krb5.conf"), "KRB5_KDC_PROFILE="+k.file("kdc.conf"))
	return cmd
}

func (k *kdc) tool(name string, args ...string) {
	k.t.Helper()
	out, err := k.command(name, args...).CombinedOutput()
	require.NoError(k.t, err, "%s %q: %s", name, args, out)
}

// start returns when the KDC takes connections.
func (k *kdc) start() {
	k.t.Helper()
	k.run = k.command("krb5kdc", "-n", "-r", realm, "-P", k.file("pid"))
	k.run.Stderr = os.Stderr
	require.NoError(k.t, k.run.Start())
	require.Eventually(k.t, func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", k.port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
}

func (k *kdc) stop() {
	if k.run != nil {
		_ = k.run.Process.Kill()
		_ = k.run.Wait()
		k.run = nil
	}
}

func (k *kdc) config() *config.Config {
	k.t.Helper()
	conf, err := config.Load(k.file("krb5.conf"))
	require.NoError(k.t, err)
	return conf
}

// client has the principal's keys.
func (k *kdc) client(name string) *client.Client {
	k.t.Helper()
	keys, err := keytab.Load(k.keytab(name))
	require.NoError(k.t, err)
	c := client.NewWithKeytab(name, realm, keys, k.config())
	k.t.Cleanup(c.Destroy)
	return c
}
