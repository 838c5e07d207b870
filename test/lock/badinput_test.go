package lock_test

import (
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
