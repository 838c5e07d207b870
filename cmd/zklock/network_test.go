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
	"path/filepath"
	"testing"
	"time"

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
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
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
		NotAfter:    time.Now().Add(time.Hour),
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
