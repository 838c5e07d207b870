package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// nobody is an observer that takes whatever it is told.
type nobody struct{}

func (nobody) Left() (timeout, left time.Duration) { return 20 * time.Second, 0 }
func (nobody) Asks(clock.Instant)                  {}
func (nobody) Connected(*wire.Link, time.Duration) {}
func (nobody) Disconnected(*wire.Link)             {}
func (nobody) Listed(*wire.Link, string, []string) {}
func (nobody) Deleted(string)                      {}
func (nobody) Changed(string)                      {}
func (nobody) Read(string, Content)                {}

// recorder is an observer that notes what it is told.
type recorder struct {
	mu   sync.Mutex // guards told
	told []string
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprintf(format, args...))
}

// all returns what was told since the last call.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	r.told = nil
	return told
}

func (r *recorder) Left() (timeout, left time.Duration) { return 20 * time.Second, 0 }
func (r *recorder) Asks(clock.Instant)                  {}

func (r *recorder) Connected(l *wire.Link, timeout time.Duration) {
	r.note("connected in %s for %v", Hex(l.ID), timeout)
}

func (r *recorder) Disconnected(l *wire.Link) { r.note("disconnected from %s", Hex(l.ID)) }

func (r *recorder) Listed(_ *wire.Link, dir string, names []string) {
	r.note("listed %s %v", dir, names)
}
func (r *recorder) Deleted(path string)            { r.note("deleted %s", path) }
func (r *recorder) Changed(path string)            { r.note("changed %s", path) }
func (r *recorder) Read(path string, said Content) { r.note("read %s %q", path, said.Data) }

// connect returns a client of the server.
func connect(t *testing.T, server *zktest.Server, dial zk.Dialer) *Client {
	t.Helper()
	return connectTold(t, server, dial, nobody{})
}

// connectTold returns a client of the server that tells o.
func connectTold(t *testing.T, server *zktest.Server, dial zk.Dialer, o Observer) *Client {
	t.Helper()
	c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: dial})
	c.Observe(o)
	require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
	t.Cleanup(func() { c.Close(RequestPatience) })
	return c
}

// inSession runs f in virtual time, with a client of a server.
func inSession(t *testing.T, f func(t *testing.T, server *zktest.Server, c *Client)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		f(t, server, connect(t, server, server.Dial))
	})
}

// runInSession is inSession of a case that has a name.
func runInSession(t *testing.T, name string, f func(t *testing.T, server *zktest.Server, c *Client)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inSession(t, f) })
}

func TestAPathIsBelowTheChroot(t *testing.T) {
	c := New(time.Second, nil, Options{})
	require.Equal(t, "/", c.Below("/"))
	require.Equal(t, "/a", c.Below("/a"))
	c = New(time.Second, nil, Options{Chroot: "/app"})
	require.Equal(t, "/app", c.Below("/"))
	require.Equal(t, "/app/a", c.Below("/a"))
	require.Equal(t, "/", c.Called("/app"))
	require.Equal(t, "/a", c.Called("/app/a"))
}

// new returns a client that is not connected, and what connects it to the server.
func connecting(server *zktest.Server, o Options) (c *Client, establish func(ctx context.Context, credentials ...wire.Credential) error) {
	o.Hosts, o.Dialer = wire.NewHosts(), server.Dial
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c = New(20*time.Second, new(clock.Clock), o)
	c.Observe(nobody{})
	return c, func(ctx context.Context, credentials ...wire.Credential) error {
		return c.Connect(ctx, []string{server.PipeAddr()}, credentials)
	}
}

func TestAClientThatCannotBeMadeIsClosed(t *testing.T) {
	c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts()})
	require.Error(t, c.Connect(t.Context(), nil, nil))
	require.True(t, c.Closed())
	require.ErrorIs(t, c.Context().Err(), context.Canceled)
}

func TestAClientThatFindsNoServerSaysWhyAndIsClosed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server, b := zktest.NewServer(t), new(book)
		server.Refuse(true)
		c, establish := connecting(server, Options{Logger: slog.New(b)})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began, told := time.Now(), []string(nil)
		time.AfterFunc(connectPatience+time.Second, func() { told = b.warnings() })
		err := establish(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "no connection, last cause")
		require.Equal(t, 30*time.Second, time.Since(began))
		require.True(t, c.Closed())
		synctest.Wait()
		require.Len(t, told, 1, "an outage has begun with the first try")
		require.Empty(t, b.warnings())
	})
}

func TestASessionLogsInBeforeItStands(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c, establish := connecting(server, Options{})
		lost := server.DropRequest(zktest.OpAuth) // it tries again
		require.NoError(t, establish(t.Context(), wire.Credential{Scheme: "digest", Secret: []byte("a:1")}, wire.Credential{Scheme: "digest", Secret: []byte("b:2")}))
		<-lost.Struck()
		defer c.Close(RequestPatience)
		require.False(t, c.Closed())
		for path, who := range map[string]string{"/a": "a:1", "/b": "b:2"} {
			user, password, _ := strings.Cut(who, ":")
			_, err := c.Conn.Create(path, nil, 0, zk.DigestACL(zk.PermAll, user, password))
			require.NoError(t, err)
			_, _, err = c.Conn.Get(path)
			require.NoError(t, err, "it is %s", user)
		}
	})
}

func TestACredentialThatIsRefusedEndsTheClient(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c, establish := connecting(server, Options{})
		began := time.Now()
		err := establish(t.Context(), wire.Credential{Scheme: "digest", Secret: []byte("a:1")}, wire.Credential{Scheme: "unheard", Secret: nil})
		require.ErrorIs(t, err, zk.ErrAuthFailed)
		require.ErrorContains(t, err, `credentials of scheme "unheard" were refused: `)
		require.Zero(t, time.Since(began))
		require.True(t, c.Closed())
	})
}

func TestALoginIsWaitedForNoLongerThanItsCallLives(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		for _, cause := range []error{nil, zk.ErrAuthFailed} {
			held := server.HoldReply(zktest.OpAuth)
			c, establish := connecting(server, Options{})
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
			defer cancel()
			err := establish(ctx, wire.Credential{Scheme: "digest", Secret: []byte("a:1")})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, cause != nil, errors.Is(err, zk.ErrAuthFailed))
			require.NotContains(t, err.Error(), "were refused", "the caller's cause is no answer")
			require.True(t, c.Closed())
			held.Release()
		}
	})
}

// A crash keeps its locks from others for so long.
func TestASessionThatIsGrantedMoreThanWasAskedForSaysSo(t *testing.T) {
	for shortest, told := range map[time.Duration][]string{
		40 * time.Second: {"WARN zklock: the servers grant a longer session timeout than was asked for asked=20s timeout=40s"},
		20 * time.Second: {},
	} {
		virtual.Test(t, func(t *testing.T) {
			server, b := zktest.NewServer(t), new(book)
			server.SetSessionTimeouts(shortest, time.Minute)
			c, establish := connecting(server, Options{Logger: slog.New(b)})
			defer c.Close(RequestPatience)
			require.NoError(t, establish(t.Context()))
			synctest.Wait()
			require.Equal(t, told, b.warnings())
		})
	}
}
