package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/wire"
)

// Client is a ZooKeeper session that goes on: a connection that breaks is replaced, and a
// session that the servers have ended by a new one.
type Client struct {
	*life
	Conn  *zk.Conn // set by Connect
	Clock *clock.Clock
	Lease *lease.Lease
	Log   *Journal
	Pulse *clock.Pulse // beats while it is open

	chroot string // that all paths of the session's users are below; "" for none

	observer Observer
	dialer   *wire.Dialer
	events   <-chan zk.Event // closed when the client's last goroutine has ended
	timeout  atomic.Int64    // as negotiated last; as asked for before that

	noContainers atomic.Bool // parents are made persistent

	watches  watches
	subtrees subtrees
	lists    lists
	stalls   stalls
	outage   outage
	cleanups cleanups
	frames   frames
	confirms confirms
	kept     sync.Map // what others keep for it: see Kept

	mu      sync.Mutex // guards the fields below; that of the trace's events is locked under it
	trace   tracer
	changed chan struct{} // closed and replaced at each change of them, and by Close
	link    *wire.Link    // nil while disconnected
	id      int64         // of the ZooKeeper session; 0 when it has expired
	failure error         // of the last attempt to connect, or to log in
	stale   *wire.Stale   // what was found of the server of link, or of the last one

	closeOnce sync.Once
	closeErr  error
}

// Options are what a user may choose of a client.
type Options struct {
	Chroot string                      // that all paths of the session's users are below
	TLS    *wire.Provided[*tls.Config] // nil: none
	Dialer zk.Dialer                   // nil: the net package's
	Hosts  zk.HostProvider
	Logger *slog.Logger
	Trace  Trace

	Credentials *wire.Provided[[]wire.Credential] // nil: none
	SASL        *wire.Provided[wire.Mechanism]    // nil: none

	PersistentParents bool // containers are not asked for
}

// New returns a client that is not connected yet. An observer has to be set before it is.
func New(timeout time.Duration, reads *clock.Clock, o Options) *Client {
	c := &Client{
		life:    newLife(),
		Clock:   reads,
		Lease:   new(lease.Lease),
		Log:     &Journal{logger: o.Logger},
		chroot:  o.Chroot,
		changed: make(chan struct{}),
	}
	c.timeout.Store(int64(timeout))
	c.Lease.Begin(timeout)
	every, _ := lease.Pulse(timeout)
	c.Pulse = clock.NewPulse(c.Clock, min(max(every, shortestPulse), longestPulse), c.tellStop, c.lookForStalls)
	c.watches.init(c)
	c.lists.init(c)
	c.noContainers.Store(o.PersistentParents)
	c.stalls.calls, c.stalls.told = make(map[*StallLog]struct{}), make(map[string]*StallLog)
	c.outage.client = c
	c.trace = tracer{Trace: o.Trace, told: &c.told, disconnected: time.Now()}
	c.dialer = wire.NewDialer(c.ctx, c, wire.Options{
		Dial: o.Dialer, TLS: o.TLS, Credentials: o.Credentials, SASL: o.SASL, Hosts: o.Hosts, Log: c.Log, Clock: reads, Lease: c.Lease,
	})
	return c
}

// Below returns the whole path of a node that the session's user calls path.
func (c *Client) Below(path string) string {
	if c.chroot != "" && path == "/" {
		return c.chroot
	}
	return c.chroot + path
}

// Called returns what the session's user calls the node of that whole path.
func (c *Client) Called(whole string) string {
	if whole == c.chroot {
		return "/"
	}
	return strings.TrimPrefix(whole, c.chroot)
}

// Observe has o told of the connections, and of what is seen over them.
func (c *Client) Observe(o Observer) { c.observer = o }

// Connect establishes a session with one of the servers, as long as ctx lives. After an error
// the client is closed.
func (c *Client) Connect(ctx context.Context, servers []string, credentials []wire.Credential) error {
	c.dialer.Logins = credentials
	asked := c.Timeout()
	conn, events, err := zk.Connect(servers, asked,
		zk.WithDialer(c.dialer.Connect),
		zk.WithHostProvider(c.dialer.Hosts),
		zk.WithEventCallback(c.notify),
		zk.WithLogger(c.Log))
	if err != nil {
		c.Close(0)
		return err
	}
	c.Conn, c.events = conn, events
	c.Pulse.Start()
	c.outage.begin(true)
	stands := false
	defer func() {
		if !stands {
			c.Close(0) // no server may answer: one that refuses a credential hangs up
		}
	}()
	if err := c.establish(ctx, credentials); err != nil {
		return err
	}
	stands = true
	if granted := c.Timeout(); granted > asked {
		c.Log.Warn("zklock: the servers grant a longer session timeout than was asked for", "asked", asked, "timeout", granted)
	}
	return nil
}

// establish waits for the session and logs in.
func (c *Client) establish(ctx context.Context, credentials []wire.Credential) error {
	for {
		_, err := c.await(ctx, AnySession, nil, isRefusal)
		if err == nil {
			err = c.logIn(ctx, credentials)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return c.Explain(Ended(ctx))
		case !Transient(err):
			return err
		}
	}
}

// isRefusal reports whether a login by SASL has failed otherwise than with its connection.
func isRefusal(failure error) bool {
	_, is := failure.(wire.SASLError)
	return is && Answers(failure, zk.ErrAuthFailed)
}

func (c *Client) logIn(ctx context.Context, credentials []wire.Credential) error {
	for _, own := range credentials {
		added := c.Background(func() error { return c.Conn.AddAuth(own.Scheme, own.Secret) }) // now and over each later connection
		switch err := Wait(ctx, added); {
		case Answers(err, zk.ErrAuthFailed):
			return fmt.Errorf("credentials of scheme %q were refused: %w", own.Scheme, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// Watches is wire.Dialer's.
func (c *Client) Watches() wire.Standing { return c.dialer.Watches() }
