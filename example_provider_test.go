package zklock_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"time"

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
