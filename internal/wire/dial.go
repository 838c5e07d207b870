package wire

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/lease"
)

// Dialer makes the connections of a session.
type Dialer struct {
	Options

	session  Session
	ctx      context.Context // ends when the session is closed
	told     told
	lostData lostData
	names    resolved
	shunned  shunned

	logins atomic.Int64 // the most that one connection has accepted: go-zookeeper repeats them over the next

	ended atomic.Bool // a server has confirmed that the session was closed

	// Since a server last served a request.
	dials atomic.Int64 // begun
	slow  atomic.Int64 // dials and handshakes that have used up their time; one that was broken off says nothing of a server

	unclosed sync.WaitGroup // connections

	mu     sync.Mutex // guards latest; nothing is locked under it
	latest *Link

	stopped latch.Latch // closed when go-zookeeper has been given its last connection
}

// Options are what a Dialer needs beside its session.
type Options struct {
	Dial  zk.Dialer              // nil: the net package's
	TLS   *Provided[*tls.Config] // nil: none
	Hosts zk.HostProvider
	Log   Log
	Clock *clock.Clock
	Lease *lease.Lease // is told of what is answered, and when

	Credentials *Provided[[]Credential] // nil: none
	Logins      []Credential            // of those, what the first connection is to carry
	SASL        *Provided[Mechanism]    // nil: none
}

// NewDialer returns a dialer for a session that is closed when ctx ends.
func NewDialer(ctx context.Context, s Session, o Options) *Dialer {
	o.Hosts = steadyHosts{o.Hosts}
	return &Dialer{Options: o, session: s, ctx: ctx}
}

// Connect is what go-zookeeper calls for each connection, until the session is closed: then it gets one
// that answers by itself.
func (d *Dialer) Connect(network, address string, timeout time.Duration) (net.Conn, error) {
	l, err := d.link(network, address, timeout)
	switch {
	case d.ctx.Err() != nil:
		if err == nil {
			l.Close()
		}
		d.stopped.Close()
		return d.closing(), nil
	case err != nil:
		return nil, err
	}
	return l, nil
}

// link connects to a server.
func (d *Dialer) link(network, address string, timeout time.Duration) (*Link, error) {
	if d.shuns(address) {
		return nil, errShunned
	}
	d.shunned.dials.Add(1)
	if err := d.pause(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.ctx, min(timeout, d.patience()))
	defer cancel()
	var logins []Credential
	if d.Credentials != nil {
		logins = d.Credentials.next(d.Log)
	}
	sasl, err := d.startLogin(address) // which may have to ask others than the server
	var conn net.Conn
	if err == nil {
		conn, err = d.open(ctx, network, address)
	}
	if err != nil {
		if ctx.Err() != nil {
			d.slow.Add(1)
		}
		d.failed(address, err)
		d.session.Failed(err)
		return nil, err
	}
	d.session.Failed(Attempt{Server: address, Sent: d.request()})
	l := newLink(d, conn, address)
	l.logIn, l.sasl = logins, sasl
	d.mu.Lock()
	previous := d.latest
	d.latest = l
	d.mu.Unlock()
	if previous != nil {
		previous.Close() // go-zookeeper leaves it open when the session had expired
	}
	return l, nil
}

// failed logs why there is no connection to a server.
func (d *Dialer) failed(address string, why error) {
	d.Log.Debug("zklock: attempt to connect failed", "server", address, "error", why)
}

// handshakeLimit is the whole session timeout if there is no session to save, since to cut off
// a handshake that is to make one would leave a session on the servers each time.
func (d *Dialer) handshakeLimit() time.Duration {
	if d.session.ID() == 0 {
		timeout, _ := d.session.Left()
		return max(timeout, lease.LeastDial)
	}
	return d.patience()
}

// patience returns how long the next dial or handshake has.
func (d *Dialer) patience() time.Duration {
	timeout, left := d.session.Left()
	return lease.DialLimit(timeout, left, d.rounds(d.slow.Load()))
}

// rounds returns how many rounds of the servers n attempts are.
func (d *Dialer) rounds(n int64) int64 { return n / int64(d.servers()) }

// servers returns how many there are, one at least: a user's provider may count none.
func (d *Dialer) servers() int { return max(d.Hosts.Len(), 1) }

// served notes that a server has served a request.
func (d *Dialer) served() {
	d.dials.Store(0)
	d.slow.Store(0)
}

func (d *Dialer) open(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.raw(ctx, network, address)
	if hungUp(err) {
		return nil, Attempt{Server: address, Sent: nothing, Err: err}
	} else if err != nil || d.TLS == nil {
		return conn, err
	}
	secured := false
	defer func() {
		if !secured {
			conn.Close()
		}
	}()
	config := d.TLS.next(d.Log)
	if config.ServerName == "" { // also for a verification of the user's own
		host, _, err := net.SplitHostPort(address)
		if err != nil && !config.InsecureSkipVerify {
			return nil, err
		}
		config = config.Clone()
		config.ServerName = host
	}
	secure := tls.Client(conn, config)
	began := time.Now()
	if err := secure.HandshakeContext(ctx); saysLittle(err) {
		return nil, Attempt{Server: address, Sent: helloOfTLS, After: time.Since(began), Err: err}
	} else if err != nil {
		return nil, err
	}
	secured = true
	return secureConn{secure}, nil
}

// secureConn closes what is below it at once. TLS would have its farewell written before, for
// which a server that hangs leaves no room: that waits for the deadline of the connection,
// which may have none.
type secureConn struct{ *tls.Conn }

func (c secureConn) Close() error { return c.NetConn().Close() }

func (d *Dialer) raw(ctx context.Context, network, address string) (net.Conn, error) {
	if d.Dial == nil {
		return d.names.dial(ctx, network, address)
	}
	deadline, _ := ctx.Deadline()
	return d.Dial(network, address, time.Until(deadline))
}

// pause waits longer from round to round of the servers, and not for long while there are holds
// to be saved. It is done here since go-zookeeper calls the host provider under a lock, and
// reads an answer to a login that failed as a connection that worked.
func (d *Dialer) pause() error {
	round := d.rounds(d.dials.Add(1) - 1)
	if round == 0 {
		return d.ctx.Err()
	}
	_, left := d.session.Left()
	most := lease.DialPause(backoff.Before(int(round)), left)
	// Not all of it: the others lost their servers at the same time.
	timer := time.NewTimer(most/2 + rand.N(most/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
}

// Cut closes the newest connection, whatever stands on it.
func (d *Dialer) Cut() {
	d.mu.Lock()
	l := d.latest
	d.mu.Unlock()
	if l != nil {
		l.Close()
	}
}

// Await returns when each connection has been closed. There must be no more dials.
func (d *Dialer) Await() { d.unclosed.Wait() }

// dialLimit is what go-zookeeper gives a dial at most.
const dialLimit = time.Second

// Stop brings go-zookeeper's dial loop to its last connection. It waits for a dialer of the user's own
// that is under way.
func (d *Dialer) Stop() {
	d.Cut()
	select {
	case <-d.stopped.Done():
	case <-time.After(dialLimit + lease.LeastDial):
	}
}

// Ended reports whether a server has confirmed that the session was closed.
func (d *Dialer) Ended() bool { return d.ended.Load() }
