package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// tlsFront serves TLS in front of a server that does not, to clients with a
// certificate of the authority.
func (a *authority) tlsFront(addr, name string) (front string) {
	pair, err := tls.LoadX509KeyPair(a.issue(name))
	require.NoError(a.t, err)
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	})
	require.NoError(a.t, err)
	a.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go splice(client, addr)
		}
	}()
	return listener.Addr().String()
}

func splice(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server) // either side may hang up
		client.Close()
	}()
	_, _ = io.Copy(server, client)
}

func TestTheConnectionIsEncryptedAndBothSidesProveWhoTheyAre(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	a := newAuthority(t)
	front := a.tlsFront(at.addr, "zookeeper.test")
	cert, key := a.issue("client.test")
	run := func(flags ...string) int {
		flags = append(flags, "--servers", front, "-w", "1s", "--", "true")
		return at.run(flags...).exit()
	}
	mine := []string{"--tls-cert", cert, "--tls-key", key}
	trusting := []string{"--tls-ca", a.file, "--tls-server-name", "zookeeper.test"}

	require.Equal(t, 0, run(append(mine, trusting...)...))
	require.Equal(t, 69, run(), "without TLS")
	require.Equal(t, 69, run("--tls"), "the authority is unknown")
	require.Equal(t, 69, run(trusting...), "we have no certificate")
	require.Equal(t, 69, run(append(mine, "--tls-ca", a.file)...), "the server's name is another")
}
