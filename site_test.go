package zklock_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

// The tests of this package lock in memory. Those in test/lock run them on a real server too.
var (
	realServer = flag.String("zklock.server", "", "the host:port of a real server for the tests")
	defaults   []zklock.Option
)

func init() {
	flag.Func("zklock.options", "options of all locks in the tests: handoff, retention, or both with a comma", func(names string) error {
		for name := range strings.SplitSeq(names, ",") {
			switch name {
			case "handoff":
				defaults = append(defaults, zklock.WithHandoff(4))
			case "retention":
				defaults = append(defaults, zklock.WithRetention(100*time.Millisecond))
			default:
				return fmt.Errorf("no option %q", name)
			}
		}
		return nil
	})
}

const (
	// patience is how long a test waits for what has to happen; only a failing one waits that
	// long.
	patience = 30 * time.Second

	// longSession is for sessions that shall not end by themselves.
	longSession = 20 * time.Second
)

// site is where a test locks: a path of its own on a server.
type site struct {
	t       testing.TB
	addr    string            // of the server
	proxy   *faultproxy.Proxy // between the server and the sessions under test
	conn    *zk.Conn          // looks at the server independently of them
	path    string
	watches func() int // that the server has
}

// sites counts the sites. A test's name would be no good path: errors, which are looked into,
// quote it. Several runs may have one real server.
var sites atomic.Int64

func newSite(t testing.TB) *site {
	t.Helper()
	at := &site{t: t, addr: *realServer, path: fmt.Sprintf("/beside%d-%d", os.Getpid(), sites.Add(1))}
	at.watches = at.askForWatches
	if at.addr == "" {
		server := zktest.NewServer(t)
		at.addr, at.watches = server.Addr(), func() (n int) {
			for _, of := range server.Watches() {
				n += of
			}
			return n
		}
	}
	at.proxy, at.conn = faultproxy.Run(t, at.addr), at.direct().Conn()
	return at
}

// askForWatches asks a real server how many watches it has.
func (at *site) askForWatches() (n int) {
	at.t.Helper()
	conn, err := net.DialTimeout("tcp", at.addr, patience)
	require.NoError(at.t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "wchs")
	require.NoError(at.t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(at.t, err)
	_, total, _ := strings.Cut(string(answer), "Total watches:")
	_, err = fmt.Sscan(total, &n)
	require.NoError(at.t, err, "%s", answer)
	return n
}

// session connects to the site's server by its proxy, until the test ends.
func (at *site) session() *zklock.Session {
	at.t.Helper()
	return at.sessionVia(at.proxy.Addr())
}

// direct connects without the site's proxy, which has goroutines of its own.
func (at *site) direct() *zklock.Session {
	at.t.Helper()
	return at.sessionVia(at.addr)
}

func (at *site) sessionVia(addr string) *zklock.Session {
	at.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{addr}, longSession)
	require.NoError(at.t, err)
	at.t.Cleanup(func() { s.Close() })
	_, _, err = s.Conn().Exists("/") // all its goroutines run when this is answered
	require.NoError(at.t, err)
	return s
}

// locker returns a lock on the site's path.
func (at *site) locker(s *zklock.Session, opts ...zklock.Option) *zklock.Locker {
	at.t.Helper()
	l, err := zklock.New(s, at.path, append(slices.Clone(defaults), opts...)...)
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

var contenderName = regexp.MustCompile(`-lock-(\d{10})$`)

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
		names[i] = strings.TrimSuffix(at.path, "/") + "/" + name
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

// childWrites returns how often children of the site's path, which has to exist, were created
// or deleted.
func (at *site) childWrites() int {
	at.t.Helper()
	_, stat, err := at.conn.Get(at.path)
	require.NoError(at.t, err)
	return int(stat.Cversion)
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

// kill ends s's ZooKeeper session from a second socket. The session cannot reconnect until it
// has ended: it might take its place back.
func (at *site) kill(s *zklock.Session) {
	at.t.Helper()
	at.proxy.Refuse(true)
	defer at.proxy.Refuse(false)
	require.NoError(at.t, apachezk.KillSession(context.Background(), at.addr, s.ID()))
}

// begin runs f in a goroutine of its own.
func begin[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	return result
}

// lockElsewhere has another goroutine lock l, which keeps the lock.
func lockElsewhere(l *zklock.Locker) <-chan error {
	return begin(func() error { return l.LockContext(context.Background()) })
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

// within returns a context that ends after d, and with the test.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
