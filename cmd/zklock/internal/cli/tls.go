package cli

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/spf13/pflag"
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
	flags.Var((*nonEmpty)(&t.ca), "tls-ca", "PEM `file` of the authorities to trust (default the system's)")
	flags.Var((*nonEmpty)(&t.cert), "tls-cert", "PEM `file` of our certificate")
	flags.Var((*nonEmpty)(&t.key), "tls-key", "PEM `file` of its key")
	flags.Var((*nonEmpty)(&t.serverName), "tls-server-name", "the `name` that the servers' certificates must have (default the one in --servers)")
}

// given reports whether the connection is to be encrypted.
func (t *tlsFiles) given() bool { return *t != tlsFiles{} }

// config is what the files say now.
func (t *tlsFiles) config() (*tls.Config, error) {
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
	return config, nil
}
