package zklockkrb

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"golang.org/x/sync/singleflight"

	"github.com/zklock/zklock"
)

// Option changes how [GSSAPI] logs in.
type Option func(*mechanism)

// WithPrincipal names the principal of a server, without realm, by its host as the session was given it.
// Otherwise it is zookeeper/HOST.
func WithPrincipal(of func(host string) string) Option {
	return func(m *mechanism) { m.principal = of }
}

// GSSAPI logs in as the principal whose tickets c has. It may be shared by sessions, and destroys
// nothing: c lives as long as they do. A KDC that refuses ends [zklock.Connect] by an error that is
// zk.ErrAuthFailed; one that does not answer is asked again, as long as Connect may take. It is waited
// for 0.9 s for each connection, and what it answers later is there for the next.
func GSSAPI(c *client.Client, opts ...Option) zklock.SASLMechanism {
	m := &mechanism{client: c, principal: func(host string) string { return "zookeeper/" + host }}
	for _, apply := range opts {
		apply(m)
	}
	return m
}

type mechanism struct {
	client    *client.Client
	principal func(host string) string
	fetches   singleflight.Group // of tickets, by principal
}

func (*mechanism) Name() string { return "GSSAPI" }

// Start fetches a ticket for the server, unless the client has one, and begins a login by it.
func (m *mechanism) Start(server string) (func([]byte) ([]byte, bool, error), error) {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	principal := m.principal(host)
	ticket, err := m.ticket(principal)
	if err != nil {
		return nil, fmt.Errorf("a ticket for %s: %w", principal, err)
	}
	l := &login{client: m.client, ticket: ticket, next: (*login).ask}
	return l.step, nil
}

// patience is how long a KDC is waited for. A client of gokrb5 may take much longer.
const patience = 900 * time.Millisecond

func (m *mechanism) ticket(principal string) (ticket, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case fetched := <-m.fetches.DoChan(principal, func() (any, error) {
		t, key, err := m.client.GetServiceTicket(principal)
		return ticket{t, key}, refusal(err)
	}):
		return fetched.Val.(ticket), fetched.Err
	case <-late.C:
		return ticket{}, fmt.Errorf("the KDC has not answered within %v", patience)
	}
}

// refusal makes err, unless the way to the KDC is to blame, one that another attempt does not mend.
func refusal(err error) error {
	var of krberror.Krberror
	if err == nil || errors.As(err, &of) && of.RootCause == krberror.NetworkingError {
		return err
	}
	return fmt.Errorf("%w: %w", err, zk.ErrAuthFailed)
}
