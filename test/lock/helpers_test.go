package lock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

const (
	// patience is how long a test waits for what has to happen; only a failing one waits that
	// long.
	patience = 30 * time.Second

	// prompt bounds, on a machine that may be busy, what must not wait for the end of a
	// session. How soon calls return is judged in virtual time.
	prompt = longSession / 2

	// aWhile is how long a test watches for what must not happen.
	aWhile = 50 * time.Millisecond

	// longSession is for sessions that shall not end by themselves.
	longSession = 20 * time.Second

	// containerCheck is how often the shared server removes empty containers.
	containerCheck = 500 * time.Millisecond
)

// shared is the server of all tests that do not stop it.
var shared struct {
	start    sync.Once
	ensemble *apachezk.Ensemble
	err      error
}

func sharedServer(t testing.TB) *apachezk.Server {
	t.Helper()
	shared.start.Do(func() {
		shared.ensemble, shared.err = apachezk.Start(context.Background(), apachezk.Config{ContainerCheck: containerCheck})
	})
	if errors.Is(shared.err, apachezk.ErrNotInstalled) {
		t.Skipf("needs a real ZooKeeper: %v", shared.err)
	}
	require.NoError(t, shared.err)
	return shared.ensemble.Server(0)
}

func stopSharedServer() {
	if shared.ensemble != nil {
		shared.ensemble.Stop()
	}
}

// site is where a test locks: a path of its own on a server.
type site struct {
	t     testing.TB
	addr  string            // of the server
	proxy *faultproxy.Proxy // between the server and the sessions under test
	conn  *zk.Conn          // looks at the server independently of them
	path  string
}

// newSite returns a site on the shared server.
func newSite(t testing.TB) *site {
	t.Helper()
	return siteAt(t, sharedServer(t).Addr())
}

// sites counts the sites. A test's name would be no good path: errors, which are looked into,
// quote it.
var sites atomic.Int64

func siteAt(t testing.TB, addr string) *site {
	t.Helper()
	skipIfExempt(t)
	return &site{
		t: t, addr: addr, proxy: faultproxy.Run(t, addr), conn: dial(t, addr),
		path: fmt.Sprintf("/lock%d", sites.Add(1)),
	}
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// dial returns a plain client with a session.
func dial(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	established := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{addr}, longSession, zk.WithLogger(silence{}), zk.WithDialer(dialImpatient), zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			select {
			case established <- struct{}{}:
			default:
			}
		}
	}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	receive(t, established, "a plain client's session")
	_, _, err = conn.Exists("/") // all its goroutines run when this is answered
	require.NoError(t, err)
	return conn
}

// impatient is a connection that fails if its handshake is not answered soon. A server that is
// starting may never do that, and go-zookeeper waits for minutes.
type impatient struct {
	net.Conn
	answered atomic.Bool
}

func dialImpatient(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &impatient{Conn: conn}, conn.SetReadDeadline(time.Now().Add(prompt))
}

func (c *impatient) SetReadDeadline(t time.Time) error {
	if !c.answered.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *impatient) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, err
}

// session connects to the site's server by its proxy, until the test ends.
func (at *site) session(opts ...zklock.SessionOption) *zklock.Session {
	at.t.Helper()
	return at.sessionVia(at.proxy.Addr(), longSession, opts...)
}

// sessionVia connects to addr instead.
func (at *site) sessionVia(addr string, timeout time.Duration, opts ...zklock.SessionOption) *zklock.Session {
	at.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{addr}, timeout, opts...)
	require.NoError(at.t, err)
	at.t.Cleanup(func() { s.Close() })
	_, _, err = s.Conn().Exists("/") // all its goroutines run when this is answered
	require.NoError(at.t, err)
	return s
}

// locker returns a lock on the site's path.
func (at *site) locker(s *zklock.Session, opts ...zklock.Option) *zklock.Locker {
	at.t.Helper()
	l, err := zklock.New(s, at.path, withDefaults(at.t, opts)...)
	require.NoError(at.t, err)
	return l
}

// stranger returns a lock on the site's path in a session of its own.
func (at *site) stranger(opts ...zklock.Option) *zklock.Locker {
	at.t.Helper()
	return at.locker(at.session(), opts...)
}

// makeParent creates the site's path as a node that stays.
func (at *site) makeParent() {
	at.t.Helper()
	_, err := at.conn.Create(at.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(at.t, err)
}

var contenderName = regexp.MustCompile(`(?:-lock-|__WRIT__|__READ__)(\d{10})$`)

// queue returns the full paths of the lock nodes, the head of the queue first.
func (at *site) queue() []string {
	at.t.Helper()
	_, err := at.conn.Sync(at.path)
	require.NoError(at.t, err)
	names, _, err := at.conn.Children(at.path)
	if !errors.Is(err, zk.ErrNoNode) {
		require.NoError(at.t, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !contenderName.MatchString(name) })
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sequenceOf(a), sequenceOf(b)) })
	for i, name := range names {
		names[i] = at.path + "/" + name
	}
	return names
}

func sequenceOf(node string) string { return contenderName.FindStringSubmatch(node)[1] }

// awaitQueue waits until the queue has n lock nodes, and returns them.
func (at *site) awaitQueue(n int) []string {
	at.t.Helper()
	var queue []string
	eventually(at.t, "the queue to change to the expected length", func() bool {
		queue = at.queue()
		return len(queue) == n
	})
	return queue
}

// requireHeld checks with the server that h is what it claims to be.
func (at *site) requireHeld(h *zklock.Hold, s *zklock.Session) {
	at.t.Helper()
	require.NotNil(at.t, h)
	require.NoError(at.t, h.Err())
	queue := at.queue()
	require.NotEmpty(at.t, queue, "%s is held, the server says, by nobody", at.path)
	require.Equal(at.t, queue[0], h.Node(), "the head of the queue holds the lock")
	_, stat, err := at.conn.Get(h.Node())
	require.NoError(at.t, err)
	require.Equal(at.t, s.ID(), stat.EphemeralOwner)
	require.Equal(at.t, stat.Czxid, h.Token())
}

// kill ends s's ZooKeeper session from a second socket.
func (at *site) kill(s *zklock.Session) {
	at.t.Helper()
	at.killVia(at.addr, s)
}

// killVia ends s's session through the server at addr. The session cannot reconnect until it
// has ended: it might take its place back.
func (at *site) killVia(addr string, s *zklock.Session) {
	at.t.Helper()
	at.proxy.Refuse(true)
	defer at.proxy.Refuse(false)
	require.NoError(at.t, apachezk.KillSession(context.Background(), addr, s.ID()))
}

// begin runs f in a goroutine of its own.
func begin[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	return result
}

// lock locks l, and returns what that panics with.
func lock(l *zklock.Locker) (err error) {
	defer func() { err, _ = recover().(error) }()
	l.Lock()
	return nil
}

// acquire begins to acquire the lock in s.
func (at *site) acquire(s *zklock.Session) <-chan *zklock.Hold {
	return at.begin(at.locker(s).Acquire)
}

// begin begins to acquire by one of the methods named so.
func (at *site) begin(acquire func(context.Context) (*zklock.Hold, error)) <-chan *zklock.Hold {
	return begin(func() *zklock.Hold {
		h, err := acquire(context.Background())
		if err != nil {
			at.t.Error(err)
		}
		return h
	})
}

// elsewhere runs f in a goroutine of its own, and waits for it.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// receive returns what comes from c, or its zero value when c is closed.
func receive[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		require.FailNow(t, "waited in vain for "+what)
		panic("unreachable")
	}
}

// requireSilent checks that nothing comes from c for a while.
func requireSilent[T any](t testing.TB, c <-chan T, what string) {
	t.Helper()
	select {
	case <-c:
		require.FailNow(t, "too early: "+what)
	case <-time.After(aWhile):
	}
}

// isClosed tells whether c is closed, without waiting.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// eventually waits until condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	retry := time.NewTicker(2 * time.Millisecond)
	defer retry.Stop()
	for limit := time.Now().Add(patience); !condition(); {
		if time.Now().After(limit) {
			require.FailNow(t, "waited in vain for "+what)
		}
		<-retry.C
	}
}

// panicOf returns the error that f panics with.
func panicOf(t testing.TB, f func()) (err error) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ = recover().(error)
		require.Error(t, err, "it must panic with an error")
	}()
	f()
	return nil
}

// done returns a context that has ended.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// within returns a context that ends after d, and with the test.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
