package lock_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// login is the option that logs a user in, whose password is the same word.
func login(user string) zklock.SessionOption {
	return zklock.WithAuth("digest", []byte(user+":"+user))
}

func TestStrangersCanNeitherJoinNorBreakALockOfItsCreators(t *testing.T) {
	at := newSite(t)
	creators := zklock.WithACL(zk.AuthACL(zk.PermAll))
	owner := at.session(login("ann"))
	held, err := at.rw(owner, creators).RAcquire(t.Context())
	require.NoError(t, err)
	lockPath := at.path
	at.path += "-permits"
	permits := take(t, at.semaphore(owner, 2, creators), 1)
	permitsPath := at.path

	for name, stranger := range map[string]*zklock.Session{
		"without a login": at.session(), "with another login": at.session(login("bob")),
	} {
		at.path = lockPath
		rw := at.rw(stranger)
		for call, attempt := range map[string]func() error{
			"Acquire":     func() error { _, err := rw.Acquire(t.Context()); return err },
			"RAcquire":    func() error { _, err := rw.RAcquire(t.Context()); return err },
			"TryRAcquire": func() error { _, err := rw.TryRAcquire(t.Context()); return err },
			"Inspect":     func() error { _, err := zklock.Inspect(t.Context(), stranger, lockPath); return err },
			"Revoke":      func() error { return zklock.Revoke(t.Context(), stranger, held.Node()) },
			"a delete":    func() error { return stranger.Conn().Delete(held.Node(), -1) },
			"a permit": func() error {
				at.path = permitsPath
				_, err := at.semaphore(stranger, 2).Acquire(t.Context(), 1)
				return err
			},
			"a permit's delete": func() error { return stranger.Conn().Delete(permits.Node(), -1) },
		} {
			require.ErrorIs(t, attempt(), zk.ErrNoAuth, "%s %s", call, name)
		}
	}
	at.path = lockPath
	ally, err := at.rw(at.session(login("ann")), creators).TryRAcquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, ally.Release(t.Context()))
	require.NoError(t, held.Err())
	require.NoError(t, permits.Err())
	require.NoError(t, held.Release(t.Context()))
	require.NoError(t, permits.Release(t.Context()))
}

// An observer may look, and do no more.
func TestObserversMayInspectAndNoMore(t *testing.T) {
	at := newSite(t)
	acl := append(zk.DigestACL(zk.PermAll, "ann", "ann"), zk.DigestACL(zk.PermRead, "eve", "eve")...)
	owner, observer := at.session(login("ann")), at.session(login("eve"))
	h, err := at.locker(owner, zklock.WithACL(acl)).Acquire(t.Context())
	require.NoError(t, err)
	found := at.inspect(observer)
	require.Len(t, found, 1)
	require.Equal(t, h.Node(), found[0].Node)
	require.Equal(t, owner.ID(), found[0].Session)
	require.NotEmpty(t, found[0].Data)
	l := at.locker(observer, zklock.WithACL(acl))
	_, err = l.TryAcquire(t.Context())
	require.ErrorIs(t, err, zklock.ErrLocked, "that needs no more than reading")
	err = l.LockContext(t.Context())
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.ErrorContains(t, err, at.path)
	require.ErrorIs(t, zklock.Revoke(t.Context(), observer, h.Node()), zk.ErrNoAuth)
	require.ErrorIs(t, observer.Conn().Delete(h.Node(), -1), zk.ErrNoAuth)
	require.NoError(t, h.Release(t.Context()))
}

// authority issues certificates, each for an hour.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if template.IsCA {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key
}

// pair returns a certificate for 127.0.0.1 with its key, in PEM.
func (a *authority) pair(name string) (cert, key []byte) {
	a.t.Helper()
	c, k := a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// client returns how a client that trusts the authority introduces itself as one of that name.
func (a *authority) client(name string) *tls.Config {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.pair(name))
	require.NoError(a.t, err)
	return &tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{pair}}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// secureServer starts a ZooKeeper that speaks TLS with those whom the authority knows, and
// returns where.
func secureServer(t *testing.T, a *authority) string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	cert, key := a.pair("server")
	keyStore := file("server.pem", bytes.Join([][]byte{key, cert}, nil))
	trustStore := file("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	return apachezk.Run(t, func(c *apachezk.Config) {
		c.Secure = true
		c.Settings = map[string]string{
			"ssl.clientAuth":           "need",
			"ssl.keyStore.location":    keyStore,
			"ssl.keyStore.type":        "PEM",
			"ssl.trustStore.location":  trustStore,
			"ssl.trustStore.type":      "PEM",
			"ssl.hostnameVerification": "false", // of clients
			"authProvider.x509":        "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
		}
	}).Server(0).SecureAddr()
}

func TestClientCertificatesOpenARealZooKeepersSecurePort(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	addr := secureServer(t, ours)
	at := &site{t: t, addr: addr, path: "/secure"}
	s := at.sessionVia(addr, longSession, zklock.WithTLS(ours.client("ann")))
	l := at.locker(s, zklock.WithACL([]zk.ACL{{Scheme: "x509", ID: "CN=ann", Perms: zk.PermAll}}))
	require.NoError(t, l.LockContext(within(t, patience)))
	node := l.Held().Node()
	require.NoError(t, l.Held().Err())

	// The certificate is who one is: another one may connect, and not lock.
	other := at.sessionVia(addr, longSession, zklock.WithTLS(ours.client("bob")))
	require.ErrorIs(t, at.locker(other).LockContext(within(t, patience)), zk.ErrNoAuth)
	require.ErrorIs(t, other.Conn().Delete(node, -1), zk.ErrNoAuth)
	require.NoError(t, l.UnlockContext(within(t, patience)))

	for name, config := range map[string]*tls.Config{
		"no certificate":                       {RootCAs: ours.pool()},
		"a certificate of another authority's": {RootCAs: ours.pool(), Certificates: others.client("ann").Certificates},
		"a server that it does not know":       others.client("ann"),
	} {
		var dials atomic.Int32
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := zklock.Connect(ctx, []string{addr}, longSession, zklock.WithTLS(config),
			zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				dials.Add(1)
				return net.DialTimeout(network, address, timeout)
			}))
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.ErrorContains(t, err, addr, name)
		require.LessOrEqual(t, dials.Load(), int32(12), "%s: it is tried less and less often", name)
	}
}
