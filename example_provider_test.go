package zklock_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// A certificate of our own that is renewed on disk: it is read for each connection.
func ExampleWithTLS() {
	config := &tls.Config{
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair("/tls/client.pem", "/tls/client.key")
			return &pair, err
		},
	}
	_, _ = zklock.Connect(context.Background(), []string{"zk1:2281"}, 10*time.Second, zklock.WithTLS(config))
}

// The authorities to trust, too.
func ExampleWithTLSProvider() {
	provider := func() (*tls.Config, error) {
		trusted, err := os.ReadFile("/tls/ca.pem")
		if err != nil {
			return nil, err
		}
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		if !config.RootCAs.AppendCertsFromPEM(trusted) {
			return nil, errors.New("/tls/ca.pem: there is no certificate in it")
		}
		pair, err := tls.LoadX509KeyPair("/tls/client.pem", "/tls/client.key")
		config.Certificates = []tls.Certificate{pair}
		return config, err
	}
	_, _ = zklock.Connect(context.Background(), []string{"zk1:2281"}, 10*time.Second, zklock.WithTLSProvider(provider))
}

// The password is the one that the servers' JAAS file has for DigestLoginModule. All nodes are the user's alone.
func ExampleWithSASL() {
	ctx := context.Background()
	session, err := zklock.Connect(ctx, []string{"zk1:2181"}, 10*time.Second,
		zklock.WithSASL(zklock.DigestMD5("ledger", os.Getenv("ZOOKEEPER_PASSWORD"))))
	if err != nil {
		return // zk.ErrAuthFailed says that it was refused
	}
	defer session.Close()
	_, _ = zklock.New(session, "/locks/ledger", zklock.WithACL(zk.AuthACL(zk.PermAll)))
}

// A password that is renewed on disk: it is read for each connection.
func ExampleWithSASLProvider() {
	provider := func() (zklock.SASLMechanism, error) {
		password, err := os.ReadFile("/run/secrets/zookeeper")
		return zklock.DigestMD5("ledger", strings.TrimSpace(string(password))), err
	}
	_, _ = zklock.Connect(context.Background(), []string{"zk1:2181"}, 10*time.Second, zklock.WithSASLProvider(provider))
}
