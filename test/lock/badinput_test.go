package lock_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
)

func TestBadPathsAreRefused(t *testing.T) {
	s := newSite(t).session()
	for _, c := range []struct{ path, value, rule string }{
		{"", "path is empty", "must start with /"},
		{"locks", `"locks"`, "must start with /"},
		{"./locks", `"./locks"`, "must start with /"},
		{"/locks/", `"/locks/"`, "must not end with /"},
		{"//", `"//"`, "must not end with /"},
		{"//locks", `"//locks"`, "empty node name"},
		{"/locks//a", `"/locks//a"`, "empty node name"},
		{"/.", `"/."`, "relative names are not allowed"},
		{"/locks/./a", `"/locks/./a"`, "relative names are not allowed"},
		{"/locks/..", `"/locks/.."`, "relative names are not allowed"},
		{"/locks/../a", `"/locks/../a"`, "relative names are not allowed"},
		{"/a\x00b", `"/a\x00b"`, "U+0000 at byte 2, which ZooKeeper refuses"},
		{"/a\nb", `"/a\nb"`, "U+000A at byte 2"},
		{"/\x1f", `"/\x1f"`, "U+001F"},
		{"/\x7f", `"/\x7f"`, "U+007F"},
		{"/\u009f", `"/\u009f"`, "U+009F"},
		{"/\ue000", `"/\ue000"`, "U+E000"},
		{"/\uf8ff", `"/\uf8ff"`, "U+F8FF"},
		{"/\ufff0", `"/\ufff0"`, "U+FFF0"},
		{"/\U0001f512", `"/🔒"`, "U+1F512"},
		{"/", `"/"`, "is the root"},
		{"/zookeeper", `"/zookeeper"`, "which ZooKeeper keeps for itself"},
		{"/zookeeper/locks", `"/zookeeper/locks"`, "which ZooKeeper keeps for itself"},
		{"/a\xffb", `"/a\xffb"`, "not valid UTF-8"},
	} {
		l, err := zklock.New(s, c.path)
		require.Nil(t, l)
		require.ErrorContains(t, err, c.value)
		require.ErrorContains(t, err, c.rule)
	}
}

func TestABadPathsErrorNamesTheCallAndThePath(t *testing.T) {
	s := newSite(t).session()
	const path = "/locks/"
	for name, c := range map[string]struct {
		op   string
		call func() error
	}{
		"New":          {"new", func() error { _, err := zklock.New(s, path); return err }},
		"NewRW":        {"new", func() error { _, err := zklock.NewRW(s, path); return err }},
		"NewSemaphore": {"new", func() error { _, err := zklock.NewSemaphore(s, path, 1); return err }},
		"Inspect":      {"inspect", func() error { _, err := zklock.Inspect(t.Context(), s, path); return err }},
		"Revoke":       {"revoke", func() error { return zklock.Revoke(t.Context(), s, path) }},
	} {
		t.Run(name, func(t *testing.T) {
			var e *zklock.Error
			require.ErrorAs(t, c.call(), &e)
			require.Equal(t, path, e.Path)
			require.Equal(t, c.op, e.Op)
			require.ErrorContains(t, e, "must not end with /")
		})
	}
}

func TestPathsThatZooKeeperAcceptsAreAccepted(t *testing.T) {
	at := newSite(t)
	s, top := at.session(), at.path
	for _, name := range []string{"a b", "...", ".a", "a.", "\u00a0", "\ud7ff", "\uf900", "\uffef", "ünïcode", "%00", "-lock-0000000000", "zookeeper"} {
		at.path = top + "/" + name
		l := at.locker(s)
		require.NoError(t, l.LockContext(within(t, patience)), name)
		at.requireHeld(l.Held(), s)
		require.NoError(t, l.UnlockContext(within(t, patience)))
	}
}

func TestBadArgumentsOfNewAreRefused(t *testing.T) {
	at := newSite(t)
	s, closed := at.session(), at.session()
	require.NoError(t, closed.Close())
	const tooMuch = 1 << 20
	for name, c := range map[string]struct {
		session *zklock.Session
		option  zklock.Option
		says    []string
	}{
		"nil session":    {nil, zklock.WithData(nil), []string{"session is nil", "Connect"}},
		"closed session": {closed, zklock.WithData(nil), []string{"session is closed"}},
		"too much data":  {s, zklock.WithData(make([]byte, tooMuch)), []string{"WithData", "1048576 bytes", "1 MiB"}},
		"a revocation":   {s, zklock.WithData([]byte("__REVOKE__")), []string{"WithData", "__REVOKE__", "Revoke"}},
		"empty ACL":      {s, zklock.WithACL(nil), []string{"WithACL", "empty"}},
		"endless ACL": {
			s, zklock.WithACL([]zk.ACL{{Scheme: "digest", ID: strings.Repeat("x", tooMuch), Perms: zk.PermAll}}),
			[]string{"1 MiB"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := zklock.New(c.session, at.path, c.option)
			require.Nil(t, l)
			var e *zklock.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, at.path, e.Path)
			for _, says := range c.says {
				require.ErrorContains(t, err, says)
			}
		})
	}
}

func TestANilOptionIsRefused(t *testing.T) {
	s := newSite(t).session()
	data, parents := zklock.WithData(nil), zklock.WithPersistentParents()
	for says, call := range map[string]func() error{
		"new /lock: option 1 is nil": func() error { _, err := zklock.New(s, "/lock", nil); return err },
		"new /rw: option 2 is nil":   func() error { _, err := zklock.NewRW(s, "/rw", data, nil); return err },
		"new /sem: option 1 is nil":  func() error { _, err := zklock.NewSemaphore(s, "/sem", 1, nil, data); return err },
		"connect a: option 2 is nil": func() error {
			_, err := zklock.Connect(t.Context(), []string{"a"}, time.Second, parents, nil)
			return err
		},
		"join /list: option 1 is nil": func() error { _, err := membership.Join(t.Context(), s, "/list", nil, nil); return err },
		"watch /list: option 1 is nil": func() (err error) {
			for _, err = range membership.Watch(t.Context(), s, "/list", nil) {
			}
			return err
		},
	} {
		t.Run(says, func(t *testing.T) { require.EqualError(t, call(), "zklock: "+says) })
	}
}

func TestAsMuchDataAsAServerTakesIsAccepted(t *testing.T) {
	at := newSite(t)
	s := at.session()
	accepted, refused := 0, 1<<20
	for refused-accepted > 1 {
		size := (accepted + refused) / 2
		if _, err := zklock.New(s, at.path, zklock.WithData(make([]byte, size))); err == nil {
			accepted = size
		} else {
			refused = size
		}
	}
	require.Greater(t, accepted, 1<<20-512)
	l := at.locker(s, zklock.WithData(make([]byte, accepted)))
	require.NoError(t, l.LockContext(within(t, patience)))
	at.requireHeld(l.Held(), s)
	l.Unlock()
}

func TestBadArgumentsOfConnectAreRefused(t *testing.T) {
	const server = "127.0.0.1:2181"
	for name, c := range map[string]struct {
		servers []string
		timeout time.Duration
		option  zklock.SessionOption
		says    []string
	}{
		"no servers":         {nil, time.Second, nil, []string{"server list is empty", "host:port"}},
		"empty server":       {[]string{server, " "}, time.Second, nil, []string{`server " "`, "host:port"}},
		"zero timeout":       {[]string{server}, 0, nil, []string{"timeout 0s", "positive", server}},
		"negative timeout":   {[]string{server}, -time.Second, nil, []string{"timeout -1s", "positive"}},
		"tiny timeout":       {[]string{server}, time.Microsecond, nil, []string{"timeout 1µs", "milliseconds"}},
		"endless timeout":    {[]string{server}, 1 << 62, nil, []string{"timeout 1281023h", "32 bits"}},
		"scheme of no name":  {[]string{server}, time.Second, zklock.WithAuth("", nil), []string{"WithAuth", "scheme is empty"}},
		"nil logger":         {[]string{server}, time.Second, zklock.WithLogger(nil), []string{"WithLogger", "nil"}},
		"nil host provider":  {[]string{server}, time.Second, zklock.WithHostProvider(nil), []string{"WithHostProvider", "nil"}},
		"hosts without name": {[]string{""}, time.Second, nil, []string{`server ""`}},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			if c.option == nil {
				c.option = zklock.WithDialer(func(string, string, time.Duration) (net.Conn, error) { panic("it dialled") })
			}
			s, err := zklock.Connect(t.Context(), c.servers, c.timeout, c.option)
			require.Nil(t, s)
			require.ErrorContains(t, err, "zklock: connect")
			for _, says := range c.says {
				require.ErrorContains(t, err, says)
			}
		})
	}
}

func TestConnectEndsWithItsContextAndNamesServersAndCause(t *testing.T) {
	refusing, hanging, foreign := listen(t), listen(t), listen(t)
	refusing.Close()
	go answer(foreign, "HTTP/1.1 400 Bad Request\r\n\r\n")
	for name, c := range map[string]struct {
		server, cause string
		options       []zklock.SessionOption
	}{
		"unreachable": {server: refusing.Addr().String(), cause: "connection refused"},
		"unresolvable": {
			server: "no-such-host.invalid:2181", cause: "lookup ",
		},
		"hanging":             {server: hanging.Addr().String(), cause: "has not answered the connect request"},
		"of another protocol": {server: foreign.Addr().String(), cause: `is no ZooKeeper server: its answer to the connect request begins with "HTTP/1.1`},
		"not TLS":             {server: sharedServer(t).Addr(), cause: "after the TLS hello, without an answer", options: []zklock.SessionOption{zklock.WithTLS(new(tls.Config))}},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			failed := func(err error) bool {
				_, cause, known := strings.Cut(err.Error(), "last cause: ")
				return known && strings.Contains(cause, c.cause)
			}
			givenTime(t, failed, func(ctx context.Context) error {
				s, err := zklock.Connect(ctx, []string{c.server}, time.Second, c.options...)
				require.Nil(t, s)
				require.ErrorContains(t, err, c.server)
				return err
			})
		})
	}
	_, err := zklock.Connect(done(), []string{hanging.Addr().String()}, time.Second)
	require.ErrorIs(t, err, context.Canceled)
}

// answer says the same to all who connect.
func answer(l net.Listener, with string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = conn.Write([]byte(with))
		conn.Close()
	}
}

// listen returns a listener whose connections nobody serves.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestUnlockWithoutAHoldPanics(t *testing.T) {
	at := newSite(t)
	l := at.stranger()
	misuse := func() {
		t.Helper()
		err := panicOf(t, l.Unlock)
		require.ErrorIs(t, err, zklock.ErrNotHeld)
		require.ErrorContains(t, err, at.path)
		require.ErrorContains(t, err, "no goroutine owns it")
		require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrNotHeld)
	}
	misuse()
	l.Lock()
	require.Equal(t, 1, l.HoldCount())
	l.Unlock()
	misuse()
	require.True(t, l.TryLock(), "misuse leaves the lock as it was")
	require.NoError(t, l.UnlockContext(t.Context()))
	misuse()
}

func TestALockOfAClosedSessionIsRefused(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	require.NoError(t, s.Close())
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	requireRefused(t, l, func(err error) {
		require.ErrorIs(t, err, zklock.ErrClosed)
		require.ErrorContains(t, err, at.path)
	})
}

// requireRefused checks that every call that takes the lock fails, with an error that check
// accepts.
func requireRefused(t *testing.T, l *zklock.Locker, check func(err error)) {
	t.Helper()
	check(panicOf(t, l.Lock))
	check(l.LockContext(t.Context()))
	require.False(t, l.TryLock())
	for _, d := range []time.Duration{0, patience} {
		ok, err := l.TryLockFor(t.Context(), d)
		require.False(t, ok)
		check(err)
	}
	_, err := l.Acquire(t.Context())
	check(err)
	_, err = l.TryAcquire(t.Context())
	check(err)
	check(l.Do(t.Context(), func(context.Context) error { panic("it ran") }))
	require.Nil(t, l.Held())
	require.Zero(t, l.HoldCount())
}
