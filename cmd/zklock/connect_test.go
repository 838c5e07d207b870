package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

// silentServer takes connections and does not answer.
func silentServer(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // with its certificate

	lasts time.Duration // what it issues
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, lasts: time.Hour}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	a.key, der = a.sign(a.cert)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	a.cert = cert
	a.file = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// sign makes a key and a certificate for it; the authority's own signs itself.
func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	by := a.key
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, by)
	require.NoError(a.t, err)
	return key, der
}

// issue returns the files of a certificate for the name and of its key.
func (a *authority) issue(name string) (cert, key string) {
	k, der := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter:    time.Now().Add(a.lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(a.t, err)
	return a.write(name+".pem", "CERTIFICATE", der), a.write(name+".key", "PRIVATE KEY", keyDER)
}

func (a *authority) write(name, kind string, der []byte) string {
	file := filepath.Join(a.t.TempDir(), name)
	require.NoError(a.t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}

// secureServer starts a ZooKeeper that speaks TLS, under that name, with clients that
// have a certificate of the authority.
func (a *authority) secureServer(name string) (addr string) {
	cert, key := a.issue(name)
	var store []byte
	for _, file := range []string{key, cert} {
		content, err := os.ReadFile(file)
		require.NoError(a.t, err)
		store = append(store, content...)
	}
	keyStore := filepath.Join(a.t.TempDir(), "server.pem")
	require.NoError(a.t, os.WriteFile(keyStore, store, 0o600))
	return apachezk.Run(a.t, func(c *apachezk.Config) {
		c.Secure = true
		c.Settings = map[string]string{
			"ssl.clientAuth":           "need",
			"ssl.keyStore.location":    keyStore,
			"ssl.keyStore.type":        "PEM",
			"ssl.trustStore.location":  a.file,
			"ssl.trustStore.type":      "PEM",
			"ssl.hostnameVerification": "false", // of clients
		}
	}).Server(0).SecureAddr()
}

func TestTheConnectionIsEncryptedAndBothSidesProveWhoTheyAre(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	a := newAuthority(t)
	secure := a.secureServer("zookeeper.test")
	cert, key := a.issue("client.test")
	wait := "1m"
	run := func(flags ...string) int {
		flags = append(flags, "--servers", secure, "--session-timeout", "1m", "-w", wait, "--", "true")
		return at.run(flags...).exit()
	}
	mine := []string{"--tls-cert", cert, "--tls-key", key}
	trusting := []string{"--tls-ca", a.file, "--tls-server-name", "zookeeper.test"}

	require.Equal(t, 0, run(append(mine, trusting...)...))
	wait = "1s"
	require.Equal(t, 69, run(), "without TLS")
	require.Equal(t, 69, run("--tls"), "the authority is unknown")
	require.Equal(t, 69, run(trusting...), "we have no certificate")
	require.Equal(t, 69, run(append(mine, "--tls-ca", a.file)...), "the server's name is another")
}

func TestServersThatDoNotAnswerAreNamedWhileOthersAreTried(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	silent := silentServer(t)
	p := at.run("--servers", "127.0.0.1:1,"+silent, "--connect-timeout", "1m", "--", "true")
	eventually(t, "the servers to be named", func() bool { return strings.Contains(p.stderr.String(), "\n") })
	require.Regexp(t, `no server answers yet, trying on.* servers="127\.0\.0\.1:1 \((no answer yet|.*connection refused)\), `+silent+` \(no answer yet\)"`, p.stderr.String())
	select {
	case <-p.exited:
		require.Fail(t, "it has given up")
	default:
	}
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit())
}

func TestTheNodesAreForWhomTheAccessListNames(t *testing.T) {
	t.Parallel()
	_, hash, _ := strings.Cut(zk.DigestACL(zk.PermAll, "zoe", "s3cret")[0].ID, ":")
	for list, want := range map[string]struct {
		acl   []zk.ACL
		warns bool
	}{
		"":        {zk.WorldACL(zk.PermAll), true},
		"open":    {zk.WorldACL(zk.PermAll), false},
		"creator": {zk.DigestACL(zk.PermAll, "zoe", "s3cret"), false},
		"digest:zoe:" + hash + ":cdrwa,ip:10.0.0.0/8:r": {
			append(zk.DigestACL(zk.PermAll, "zoe", "s3cret"), zk.ACL{Scheme: "ip", ID: "10.0.0.0/8", Perms: zk.PermRead}), false,
		},
	} {
		at := newSite(t)
		args := []string{"--", "cat"}
		if list != "" {
			args = append([]string{"--acl", list}, args...)
		}
		cmd := at.command(at.runArgs(args...)...)
		cmd.Env = append(cmd.Env, "ZKLOCK_AUTH=digest:zoe:s3cret")
		p := at.start(cmd)
		require.NoError(t, at.conn.AddAuth("digest", []byte("zoe:s3cret")))
		at.awaitQueue(1)
		node, _ := at.node()
		for _, path := range []string{node, at.path} {
			acl, _, err := at.conn.GetACL(path)
			require.NoError(t, err)
			require.Equal(t, want.acl, acl, "%s of %s", list, path)
		}
		p.stdin.Close()
		require.Equal(t, 0, p.exit())
		require.Equal(t, want.warns, strings.Contains(p.stderr.String(), "the lock's nodes stay open to everybody"), list)
	}
}

func TestAFileOfCredentialsThatOthersMayUseIsRefused(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.create(zk.DigestACL(zk.PermAll, "zoe", "s3cret"))
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("digest:zoe:s3cret\n"), 0o600))
	for _, args := range [][]string{{"run", at.path, "--auth-file", file, "--", "true"}, {"status", at.path, "--auth-file", file}} {
		for mode, right := range map[os.FileMode]string{
			0o644: "chmod 600 ", 0o640: "chmod 600 ", 0o620: "chmod 600 ", 0o602: "chmod 600 ",
			0o666: "chmod 600 ", 0o755: "chmod 600 ", 0o444: "chmod 400 ",
		} {
			require.NoError(t, os.Chmod(file, mode))
			p := at.zklock(args...)
			require.Equal(t, 64, p.exit(), "%v", mode)
			require.Contains(t, p.stderr.String(), "zklock: --auth-file "+file+": its mode is ")
			require.Contains(t, p.stderr.String(), right+file)
			require.NotContains(t, p.stderr.String(), "s3cret")
			off := append([]string{args[0], "--auth-file-mode-check=off"}, args[1:]...)
			require.Equal(t, 0, at.zklock(off...).exit())
		}
		for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
			require.NoError(t, os.Chmod(file, mode))
			require.Equal(t, 0, at.zklock(args...).exit(), "%v", mode)
		}
	}
	require.NoError(t, os.Chmod(file, 0o666))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(file, link))
	require.Equal(t, 64, at.zklock("status", at.path, "--auth-file", link).exit(), "the file counts, not the link")
	wrong := at.zklock("status", at.path, "--auth-file-mode-check=maybe")
	require.Equal(t, 64, wrong.exit())
	require.Contains(t, wrong.stderr.String(), "on, off")
}

func TestAFileThatIsAPipeWithNothingInItHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--auth-file", "--tls-ca", "--tls-cert"} {
		for name, args := range map[string][]string{
			"status":        {"status", "/p"},
			"run":           {"run", "/p", "--", "true"},
			"run that ends": {"run", "-w", "1s", "/p", "--", "true"},
		} {
			t.Run(flag+" of "+name, func(t *testing.T) {
				t.Parallel()
				pipe := filepath.Join(t.TempDir(), "pipe")
				require.NoError(t, syscall.Mkfifo(pipe, 0o600))
				files := []string{args[0], "--servers", "127.0.0.1:1", flag, pipe}
				if flag == "--tls-cert" {
					files = append(files, "--tls-key", pipe)
				}
				p := startProcess(t, exec.Command(zklockBinary, append(files, args[1:]...)...))
				opened := make(chan *os.File, 1)
				go func() {
					writer, _ := os.OpenFile(pipe, os.O_WRONLY, 0) // when somebody reads
					opened <- writer
				}()
				select {
				case writer := <-opened:
					defer writer.Close()
				case <-p.exited:
					require.Fail(t, p.stderr.String())
				}
				if args[1] == "-w" {
					require.Equal(t, 69, p.exit(), "%s", p.stderr)
					require.Contains(t, p.stderr.String(), "reading the files that the flags name")
					return
				}
				p.signal(syscall.SIGTERM)
				require.Equal(t, 128+int(syscall.SIGTERM), p.exit(), "%s", p.stderr)
			})
		}
	}
}

func TestAFileOfCredentialsThatRootHasMadeForAGroupIsTaken(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	at := newSite(t)
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("digest:zoe:s3cret\n"), 0o640))
	require.NoError(t, os.Chown(file, 12345, 0))
	for mode, code := range map[os.FileMode]int{0o640: 0, 0o440: 0, 0o660: 64, 0o644: 64} {
		require.NoError(t, os.Chmod(file, mode))
		p := at.zklock("status", at.path, "--auth-file", file)
		require.Equal(t, code, p.exit(), "%v: %s", mode, p.stderr)
	}
}
