package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

// front speaks TLS ahead of a server that does not, as its configuration says at each handshake.
type front struct {
	t        *testing.T
	addr     string
	config   atomic.Pointer[tls.Config]
	accepted atomic.Int32

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newFront(t *testing.T, of string, config *tls.Config) *front {
	f := &front{t: t}
	f.config.Store(config)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.config.Load(), nil },
	})
	require.NoError(t, err)
	f.addr = l.Addr().String()
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { f.serve(conn.(*tls.Conn), of) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		f.cut()
		work.Wait()
	})
	return f
}

func (f *front) serve(conn *tls.Conn, of string) {
	defer conn.Close()
	if conn.Handshake() != nil {
		return
	}
	to, err := net.Dial("tcp", of)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.conns = append(f.conns, conn, to)
	f.mu.Unlock()
	f.accepted.Add(1)
	go func() {
		_, _ = io.Copy(to, conn)
		to.Close()
	}()
	_, _ = io.Copy(conn, to)
}

func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.conns {
		conn.Close()
	}
	f.conns = nil
}

// reconnect cuts all connections, and returns when there is another.
func (f *front) reconnect() {
	f.t.Helper()
	before := f.accepted.Load()
	f.cut()
	eventually(f.t, "another connection", func() bool { return f.accepted.Load() > before })
}

// demanding is the configuration of a server that has a certificate of the authority, and wants one
// of it, that is good at the time.
func (a *authority) demanding(name string, at func() time.Time) *tls.Config {
	pair, err := tls.LoadX509KeyPair(a.issue(name))
	require.NoError(a.t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, Time: at}
}

func TestCertificatesThatAreRenewedAreReadForTheNextConnection(t *testing.T) {
	t.Parallel()
	const server = "zookeeper.test"
	at := newSite(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	renew := func(by *authority) {
		cert, key := by.issue("client.test")
		for from, to := range map[string]string{by.file: "ca.pem", cert: "client.pem", key: "client.key"} {
			content, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file(to), content, 0o600))
		}
	}
	old := newAuthority(t)
	renew(old)
	f := newFront(t, at.addr, old.demanding(server, time.Now))
	p := at.holder("--servers", f.addr, "--tls-server-name", server,
		"--tls-ca", file("ca.pem"), "--tls-cert", file("client.pem"), "--tls-key", file("client.key"))
	node, _ := at.node()
	f.reconnect()
	require.Empty(t, p.stderr.String())

	require.NoError(t, os.WriteFile(file("client.key"), []byte("half a k"), 0o600))
	f.reconnect()
	f.reconnect()
	require.Equal(t, 1, strings.Count(p.stderr.String(), "the TLS configuration was not renewed"), "%s", p.stderr)

	later := func() time.Time { return time.Now().Add(2 * time.Hour) } // when the first certificate has ended
	old.lasts = 3 * time.Hour
	f.config.Store(old.demanding(server, later))
	renew(old)
	f.reconnect()

	another := newAuthority(t)
	f.config.Store(another.demanding(server, time.Now))
	renew(another)
	f.reconnect()

	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "%s", p.stderr)
	still, _ := at.node()
	require.Equal(t, node, still)
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
}

func TestCredentialsThatAreRenewedLogInTheNextConnection(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	link := faultproxy.Run(t, at.addr)
	file := filepath.Join(t.TempDir(), "auth")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("digest:ann:one\n")
	p := at.holder("--servers", link.Addr(), "--auth-file", file, "--acl", "open")

	require.NoError(t, os.Remove(file))
	reconnect(t, link)
	p.awaitMessage("the credentials were not renewed")

	// From now on ann may do nothing there: the lock can be given back by bob alone.
	write("digest:zoe:zero\ndigest:ann:two\ndigest:bob:two\n")
	require.NoError(t, at.conn.AddAuth("digest", []byte("bob:two")))
	_, err := at.conn.SetACL(at.path, zk.DigestACL(zk.PermAll, "bob", "two"), -1)
	require.NoError(t, err)
	reconnect(t, link)
	p.stdin.Close()
	require.Equal(t, 0, p.exit(), "%s", p.stderr)
	require.Empty(t, at.queue())
	require.NotContains(t, p.stderr.String(), "not given back")
}

// What a pipe gives it gives once.
func TestAFileThatIsAPipeIsReadOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	link := faultproxy.Run(t, at.addr)
	secret, pipe, err := os.Pipe()
	require.NoError(t, err)
	cmd := at.command(at.runArgs("--servers", link.Addr(), "--auth-file", "/dev/fd/3", "--acl", "open", "--", "sh", "-c", "echo in; cat")...)
	cmd.ExtraFiles = []*os.File{secret}
	p := at.start(cmd)
	secret.Close()
	_, err = pipe.WriteString("digest:ann:one\n")
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	require.Equal(t, "in", p.line())
	reconnect(t, link)
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
	require.Empty(t, p.stderr.String())
}
