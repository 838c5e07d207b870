package cli

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/spf13/pflag"

	"github.com/zklock/zklock"
)

// tlsFiles are the flags of an encrypted connection. Each of them implies one.
type tlsFiles struct {
	enabled    bool
	ca         string
	cert, key  string
	serverName string
}

func (t *tlsFiles) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.enabled, "tls", false, "encrypt the connection; implied by the other --tls flags")
	flags.StringVar(&t.ca, "tls-ca", "", "PEM `file` of the authorities to trust (default the system's)")
	flags.StringVar(&t.cert, "tls-cert", "", "PEM `file` of our certificate")
	flags.StringVar(&t.key, "tls-key", "", "PEM `file` of its key")
	flags.StringVar(&t.serverName, "tls-server-name", "", "the `name` that the servers' certificates must have (default the one in --servers)")
}

func (t *tlsFiles) options() ([]zklock.SessionOption, error) {
	if !t.enabled && t.ca == "" && t.cert == "" && t.key == "" && t.serverName == "" {
		return nil, nil
	}
	config := &tls.Config{ServerName: t.serverName}
	if t.ca != "" {
		pem, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, usage("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage("--tls-ca %s: there is no certificate in it; it must be PEM", t.ca)
		}
	}
	if (t.cert == "") != (t.key == "") {
		return nil, usage("--tls-cert %q, --tls-key %q: give both or none", t.cert, t.key)
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, usage("--tls-cert %s, --tls-key %s: %w", t.cert, t.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return []zklock.SessionOption{zklock.WithTLS(config)}, nil
}
