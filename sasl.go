package zklock

import (
	"crypto/rand"
	"errors"

	"github.com/zklock/zklock/internal/digestmd5"
)

// SASLMechanism is a mechanism of SASL (RFC 4422) by which [WithSASL] logs a session in: [DigestMD5],
// or GSSAPI of the module zklockkrb.
type SASLMechanism interface {
	// Name returns the mechanism's name, such as "DIGEST-MD5", for errors.
	Name() string

	// Start begins the login of a connection to server, given as host:port, which is yet to be made. An
	// error is why there is none: it is tried again, over another one, unless [Connect] is given one that
	// is zk.ErrAuthFailed, which it returns.
	//
	// step is called with what the server has said, with nothing at first, and returns what to say to
	// it, which may be nothing. When it is done, nothing is said any more, and the server is trusted.
	// An error of its ends the connection, and is zk.ErrAuthFailed to whoever asks for a lock.
	Start(server string) (step func(challenge []byte) (response []byte, done bool, err error), err error)
}

// WithSASL logs the session in by mechanism, on every connection, before anything else is asked over it: all
// of the session is authenticated, [Session.Conn] too. A server that refuses, or that cannot show
// who it is where the mechanism wants that, ends [Connect] with an error that is zk.ErrAuthFailed, and names
// the mechanism and the server. Later it is as a server that does not serve: another connection is tried,
// holds last as long as their lease, and calls whose ctx ends say so by that error.
//
// Nodes are kept for a user by an access list of the scheme "sasl", such as zk.ACL{Perms:
// zk.PermAll, Scheme: "sasl", ID: "bob"}, or by zk.AuthACL for whoever makes them. WithSASL goes together with
// [WithAuth].
//
// The mechanism's functions are called as a provider is for a connection ([WithAuthProvider]), and must
// return within a second.
func WithSASL(mechanism SASLMechanism) SessionOption {
	return WithSASLProvider(func() (SASLMechanism, error) { return mechanism, nil })
}

// WithSASLProvider is [WithSASL] for a login that is renewed while the session lives. provider is called when
// WithAuthProvider's is, and the same holds.
func WithSASLProvider(provider func() (SASLMechanism, error)) SessionOption {
	if provider == nil {
		provider = func() (SASLMechanism, error) { return nil, errors.New("WithSASLProvider: the provider is nil") }
	}
	return func(o *sessionOptions) { o.sasl = provider }
}

// DigestMD5 logs in by a password, which the servers' JAAS file has too, for DigestLoginModule. The password
// is not sent; who reads along may guess at it, or change what follows: use TLS where that matters.
func DigestMD5(user, password string) SASLMechanism { return &digestMD5{user, password} }

// digestMD5 is used by its address, which is all that is printed of a struct's field that has one.
type digestMD5 struct{ user, password string }

func (*digestMD5) Name() string { return "DIGEST-MD5" }

func (d *digestMD5) Start(string) (func([]byte) ([]byte, bool, error), error) {
	login := digestmd5.Login{User: d.user, Password: d.password, URI: "zookeeper/zk-sasl-md5", Nonce: rand.Text()}
	var answer *digestmd5.Answer
	begun := false
	return func(challenge []byte) ([]byte, bool, error) {
		switch {
		case !begun: // the server has the first word, and has to be asked for it
			begun = true
			return nil, false, nil
		case answer != nil:
			return nil, true, answer.Check(challenge)
		case len(challenge) == 0:
			return nil, false, errors.New("the server has no challenge: it may have no login for clients (java.security.auth.login.config)")
		}
		made, err := login.Answer(challenge)
		answer = &made
		return []byte(made.Response), false, err
	}, nil
}

// String keeps the password from whoever prints a mechanism.
func (d *digestMD5) String() string { return "DIGEST-MD5 as " + d.user }

func (d *digestMD5) GoString() string { return d.String() }
