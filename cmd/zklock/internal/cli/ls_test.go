package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// Paths may be called as the two nodes of a semaphore are.
func TestLsListsWhatIsBelowPathsWithTheNamesOfASemaphoresNodes(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	held := []string{"/app/leases/db", "/app/locks/db", "/leases/db", "/locks", "/locks/db"}
	for _, path := range held {
		l, err := zklock.New(session, path)
		require.NoError(t, err)
		_, err = l.Acquire(t.Context())
		require.NoError(t, err)
	}
	permits, err := zklock.NewSemaphore(session, "/permits", 1)
	require.NoError(t, err)
	_, err = permits.Acquire(t.Context(), 1)
	require.NoError(t, err)

	_, err = session.Conn().Create("/permits/locks/_c_next-lock-0000000009", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	l, err := list(t.Context(), session, "/")
	require.NoError(t, err)
	require.Empty(t, l.hidden)
	var paths []string
	for _, v := range l.found {
		paths = append(paths, v.path)
	}
	require.Equal(t, append(held, "/permits"), paths)
}

func TestLsGoesOnPastAPathThatMayNotBeRead(t *testing.T) {
	server := zktest.NewServer(t)
	session := connect(t, server)
	l, err := zklock.New(session, "/app/lock")
	require.NoError(t, err)
	_, err = l.Acquire(t.Context())
	require.NoError(t, err)
	_, err = session.Conn().Create("/app/leases", nil, zk.FlagPersistent, zk.DigestACL(zk.PermAll, "some", "body"))
	require.NoError(t, err)
	shown, err := list(t.Context(), session, "/")
	require.NoError(t, err, "exit code %d", codeOf(err))
	require.Len(t, shown.found, 1)
	require.Equal(t, "/app/lock", shown.found[0].path)
	require.Equal(t, []string{"/app/leases"}, shown.hidden)
}

func TestLsSaysWhichPathsMayNotBeRead(t *testing.T) {
	server := zktest.NewServer(t)
	theirs, ours := connect(t, server, zklock.WithAuth("digest", []byte("ann:secret"))), connect(t, server)
	_, err := theirs.Conn().Create("/locks", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	for path, acl := range map[string][]zk.ACL{"/locks/hidden": zk.AuthACL(zk.PermAll), "/locks/open": zk.WorldACL(zk.PermAll)} {
		l, err := zklock.New(theirs, path, zklock.WithACL(acl))
		require.NoError(t, err)
		_, err = l.Acquire(t.Context())
		require.NoError(t, err)
	}
	shown, err := list(t.Context(), ours, "/locks")
	require.NoError(t, err)
	require.Len(t, shown.found, 1)
	require.Equal(t, []string{"/locks/hidden"}, shown.hidden)
	_, err = list(t.Context(), ours, "/locks/hidden")
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.Equal(t, exitRefused, codeOf(err))
}

// What is not shown is not said to be free.
func TestWhatMayNotBeReadIsAPartOfTheAnswerOfLs(t *testing.T) {
	for name, c := range map[string]struct {
		l     listing
		table string
		json  string
		code  int
	}{
		"all may be read": {listing{prefix: "/"}, "Nobody holds a lock at or below /, or waits for one.\n", `"unreadable":[]}`, 0},
		"nothing else is there": {
			listing{prefix: "/", hidden: []string{"/a\n", "/b"}},
			"Nobody holds a lock at or below /, or waits for one, as far as it may be read.\n" +
				"/a\\x0a may not be read: the permission READ on it is missing.\n/b may not be read: the permission READ on it is missing.\n",
			`"unreadable":["/a\n","/b"]}`, 66,
		},
		"beside a lock": {
			listing{prefix: "/", found: []view{{path: "/p", found: []zklock.Contender{{Held: true}}}}, hidden: []string{"/b"}},
			"PATH  KIND       HOLDER  WAITERS  AGE\n/p    exclusive  -       0        -\n/b may not be read: the permission READ on it is missing.\n",
			`"unreadable":["/b"]}`, 66,
		},
	} {
		var table, line strings.Builder
		require.NoError(t, c.l.writeTable(&table))
		require.Equal(t, c.table, table.String(), name)
		require.NoError(t, c.l.writeJSON(&line))
		require.Contains(t, line.String(), c.json, name)
		require.Equal(t, c.code, c.l.exitCode(), name)
	}
}

// Permits are in no order, and servers may not tell when a node was created.
func TestTheAgeOfALockIsThatOfItsOldestNode(t *testing.T) {
	at := time.Unix(1000, 0)
	created := func(ago time.Duration) zklock.Contender { return zklock.Contender{Created: at.Add(-ago)} }
	for name, c := range map[string]struct {
		found   []zklock.Contender
		table   string
		seconds float64
	}{
		"in order":      {[]zklock.Contender{created(3 * time.Second), created(time.Second)}, "3s", 3},
		"in none":       {[]zklock.Contender{created(time.Second), created(3 * time.Second), created(2 * time.Second)}, "3s", 3},
		"some unknown":  {[]zklock.Contender{{}, created(3 * time.Second), {}}, "3s", 3},
		"none known":    {[]zklock.Contender{{}, {}}, "-", 0},
		"to be created": {[]zklock.Contender{created(-time.Second)}, "0s", 0}, // the clocks differ
	} {
		t.Run(name, func(t *testing.T) {
			l := listing{prefix: "/", found: []view{{path: "/p", at: at, found: c.found}}}
			var table, line strings.Builder
			require.NoError(t, l.writeTable(&table))
			fields := strings.Fields(table.String())
			require.Equal(t, c.table, fields[len(fields)-1])
			require.NoError(t, l.writeJSON(&line))
			require.Contains(t, line.String(), fmt.Sprintf(`"age_seconds":%v}`, c.seconds))
		})
	}
}

func TestLsListsALockThatIsCalledAsPermitsAre(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	l, err := zklock.New(session, "/app/leases")
	require.NoError(t, err)
	_, err = l.Acquire(t.Context())
	require.NoError(t, err)
	shown, err := list(t.Context(), session, "/")
	require.NoError(t, err)
	require.Len(t, shown.found, 1)
	require.Equal(t, "/app/leases", shown.found[0].path)
}

func TestLsShowsTheKeysThatPathsHaveEscaped(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	locks, err := zklock.NewKeyed(session, "/keys")
	require.NoError(t, err)
	long := strings.Repeat("long", 100)
	for _, key := range []string{"plain", "a/b", "", "\xff", long} {
		_, err := locks.Acquire(t.Context(), key)
		require.NoError(t, err)
	}
	l, err := list(t.Context(), session, "/keys")
	require.NoError(t, err)
	var table, line strings.Builder
	require.NoError(t, l.writeTable(&table))
	require.Regexp(t, `^PATH +KIND +HOLDER +WAITERS +AGE +KEY\n`+
		`/keys/% .* \ds *\n`+
		`/keys/%FF .* \ds +\\xff\n`+
		`/keys/%sha256-.* \ds +longlong[^\n]*\.\.\.\n`+
		`/keys/a%2Fb .* \ds +a/b\n`+
		`/keys/plain .* \ds +plain\n$`, table.String())
	require.NoError(t, l.writeJSON(&line))
	for _, key := range []string{`"key":""`, `"key_base64":"/w=="`, `"key":"` + long + `"`, `"key":"a/b"`, `"key":"plain"`} {
		require.Contains(t, line.String(), key)
	}

	// A table has no such column without a key to show.
	l.found = l.found[4:]
	table.Reset()
	require.NoError(t, l.writeTable(&table))
	require.NotContains(t, table.String(), "KEY")
}
