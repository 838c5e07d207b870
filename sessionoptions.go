package zklock

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
)

// SessionOption changes how [Connect] makes a session.
type SessionOption func(*sessionOptions)

type sessionOptions struct {
	client.Options
	credentials []func() ([]Credential, error)
	sasl        func() (SASLMechanism, error) // nil without SASL
	tls         func() (*tls.Config, error)   // nil without TLS
}

func (o *sessionOptions) check() error {
	if o.Hosts == nil {
		return errors.New("WithHostProvider: the provider is nil")
	}
	if o.Logger == nil {
		return errors.New("WithLogger: the logger is nil")
	}
	return o.provide()
}

// WithAuth logs the session in, on every connection. For the scheme "digest" the credentials
// are "user:password". It may be given more than once. See [WithAuthProvider] for those that are
// renewed.
func WithAuth(scheme string, credentials []byte) SessionOption {
	own := []Credential{{scheme, slices.Clone(credentials)}}
	return WithAuthProvider(func() ([]Credential, error) { return own, nil })
}

// WithTLS encrypts every connection. An empty ServerName is filled in with the host of the
// server that is dialled. What config calls, such as VerifyPeerCertificate, must return within a
// second, as a dialer must: Connect and Close leave it running otherwise. Its GetClientCertificate
// is called for each connection, so that a certificate may be renewed; see [WithTLSProvider] for the
// rest of it.
func WithTLS(config *tls.Config) SessionOption {
	return WithTLSProvider(func() (*tls.Config, error) { return config, nil })
}

// WithDialer makes connections by dial. dial must return within the time limit that it is
// given, a second at most: it has no ctx, and [Connect] and [Session.Close] wait until it
// returns. It is called by a goroutine of the session, as the functions of a TLS configuration are:
// if it panics the process ends, as it does if a method of its connections panics. Session.Close, and
// Connect if it fails, wait for their Close, too.
func WithDialer(dial zk.Dialer) SessionOption {
	return func(o *sessionOptions) { o.Dialer = dial }
}

// WithLogger sends the session's messages to logger: a new session, the end of one or of its
// lease, an outage, a lost lock, and a call that gets nowhere (see [Locker.Lock]) at Info and
// Warn, a node that cannot be deleted at Error, the locks that are acquired and the client's own
// messages at Debug. Without it nothing is logged: give it slog.Default(), if you have no other.
// One goroutine calls the handler's Handle, for one message after the other; no lock waits for it, but
// [Session.Close] does, and [Connect] that fails. Its Enabled is asked by those who have a lock, too. While a thousand messages wait for it, others
// are dropped, and it is told how many. If it panics the process ends. It must not close the session.
func WithLogger(logger *slog.Logger) SessionOption {
	return func(o *sessionOptions) { o.Logger = logger }
}

// WithHostProvider chooses the servers to connect to by provider, whose methods must not block.
// The session makes the pauses between its dials; those that the provider asks for are not
// kept. Without it the servers are tried in turn, in an order drawn at first. Their names are
// resolved anew each time, and of a name with several addresses each dial begins with another one.
// Init is called by Connect, and what it panics with is Connect's panic. The others are called by
// goroutines of the session, where a panic ends the process.
func WithHostProvider(provider zk.HostProvider) SessionOption {
	return func(o *sessionOptions) { o.Hosts = provider }
}

// WithPersistentParents makes the missing parents of locks, and of members, as persistent
// nodes, which stay for ever, instead of containers, which the servers remove when they have
// been left empty. It is for who wants them to stay. With servers that do not know containers,
// as ZooKeeper before 3.5, a session finds that out by itself, at the first path that is
// missing: it goes on with persistent nodes, and loses no connection.
func WithPersistentParents() SessionOption {
	return func(o *sessionOptions) { o.PersistentParents = true }
}
