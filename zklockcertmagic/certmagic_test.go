package zklockcertmagic_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockcertmagic"
	"github.com/zklock/zklock/zktest"
)

// issuer signs whatever it is asked to, and counts that.
type issuer struct{ issued atomic.Int32 }

func (*issuer) IssuerKey() string { return "test" }

func (i *issuer) Issue(_ context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	i.issued.Add(1)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: request.DNSNames, NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

func TestInstancesThatNeedTheSameCertificateOrderItOnce(t *testing.T) {
	server, files := zktest.NewServer(t), &certmagic.FileStorage{Path: t.TempDir()}
	var ca issuer
	var instances errgroup.Group
	for range 5 {
		session, err := zklock.Connect(t.Context(), []string{server.Addr()}, timeout)
		require.NoError(t, err)
		defer session.Close()
		storage, err := zklockcertmagic.New(files, session, "/app/certificates")
		require.NoError(t, err)
		var config *certmagic.Config
		cache := certmagic.NewCache(certmagic.CacheOptions{
			GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return config, nil },
		})
		defer cache.Stop()
		config = certmagic.New(cache, certmagic.Config{Storage: storage, Issuers: []certmagic.Issuer{&ca}})
		instances.Go(func() error { return config.ObtainCertSync(t.Context(), "example.com") })
	}
	require.NoError(t, instances.Wait())
	require.EqualValues(t, 1, ca.issued.Load())
}
