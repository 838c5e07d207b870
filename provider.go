package zklock

import (
	"crypto/tls"
	"errors"
	"slices"

	"github.com/zklock/zklock/internal/wire"
)

// Credential is what a session logs in with, as [WithAuth] is given it.
type Credential struct {
	Scheme string // such as "digest"
	Secret []byte // for that one: "user:password"
}

// WithAuthProvider is WithAuth for credentials that are renewed while the session lives. provider is
// called by [Connect], whose error its own is, and then for each connection, which is logged in with
// what it returns. If it fails then, the connection has those of the one before, and the log is told
// why, at Warn, once as long as the reason stays. A connection that stands is left as it is.
//
// A session is who its last connection has logged in: let the old and the new credentials overlap
// if the access list of its locks names them.
//
// Like a dialer ([WithDialer]) it must return within a second. Connect waits for the first call, whatever
// its ctx says; the others are made by a goroutine of the session. It is not called twice at the same time.
func WithAuthProvider(provider func() ([]Credential, error)) SessionOption {
	if provider == nil {
		provider = func() ([]Credential, error) { return nil, errors.New("WithAuthProvider: the provider is nil") }
	}
	return func(o *sessionOptions) { o.credentials = append(o.credentials, provider) }
}

// WithTLSProvider is [WithTLS] for a configuration that is renewed while the session lives, such as
// the authorities to trust. provider is called when WithAuthProvider's is, and the same holds. For
// our own certificate alone the GetClientCertificate of a tls.Config is enough.
func WithTLSProvider(provider func() (*tls.Config, error)) SessionOption {
	if provider == nil {
		provider = func() (*tls.Config, error) { return nil, errors.New("WithTLSProvider: the provider is nil") }
	}
	return func(o *sessionOptions) { o.tls = provider }
}

// provide asks the providers for the first time.
func (o *sessionOptions) provide() (err error) {
	if o.tls != nil {
		if o.TLS, err = wire.Provide("zklock: the TLS configuration was not renewed", o.config); err != nil {
			return err
		}
	}
	if o.sasl != nil {
		if o.SASL, err = wire.Provide("zklock: the SASL login was not renewed", o.mechanism); err != nil {
			return err
		}
	}
	if len(o.credentials) > 0 {
		o.Credentials, err = wire.Provide("zklock: the credentials were not renewed", o.logins)
	}
	return err
}

// config is the configuration of TLS now.
func (o *sessionOptions) config() (*tls.Config, error) {
	config, err := o.tls()
	if config == nil { // as in crypto/tls
		config = new(tls.Config)
	}
	return config, err
}

// mechanism is that of SASL now.
func (o *sessionOptions) mechanism() (wire.Mechanism, error) {
	mechanism, err := o.sasl()
	if err == nil && mechanism == nil {
		err = errors.New("WithSASL: the mechanism is nil")
	}
	return mechanism, err
}

// logins are the credentials now.
func (o *sessionOptions) logins() (all []wire.Credential, err error) {
	for _, provider := range o.credentials {
		some, err := provider()
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			if c.Scheme == "" {
				return nil, errors.New("WithAuth: the scheme is empty; it is one such as \"digest\"")
			}
			all = append(all, wire.Credential{Scheme: c.Scheme, Secret: slices.Clone(c.Secret)})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("WithAuthProvider: it has returned no credentials")
	}
	return all, nil
}
