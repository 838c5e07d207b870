package cli

import (
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// beside makes a lock's path with children of other programs.
func beside(t *testing.T, flags int32, names ...string) *zklock.Session {
	t.Helper()
	session := connect(t, zktest.NewServer(t))
	for _, path := range []string{"/app", "/app/lock"} {
		_, err := session.Conn().Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	for _, name := range names {
		_, err := session.Conn().Create("/app/lock/"+name, nil, flags, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	return session
}

func statusOf(t *testing.T, session *zklock.Session) (table, line string) {
	t.Helper()
	v, err := look(t.Context(), session, "/app/lock")
	require.NoError(t, err)
	var people, programs strings.Builder
	require.NoError(t, v.writeTable(&people))
	require.NoError(t, v.writeJSON(&programs))
	return people.String(), programs.String()
}

// What somebody would wait for is shown by each command, as what it is.
func TestWhatIsInTheWayIsShownWhoeverHasMadeIt(t *testing.T) {
	for name, tc := range map[string]struct {
		flags                                int32
		child                                string
		note, json, revoked, broken, inTheLs string
	}{
		"another library's": {
			zk.FlagEphemeral, "n_0000000003", "n_0000000003 is of no form that zklock knows. ", `"foreign":true`,
			"its name is of no form that this library knows", "until the holder notices", "- (of another library)",
		},
		"a lock by hand": {zk.FlagEphemeral, "lock-0000000003", "", `"session":"0x`, "", "until the holder notices", "exclusive  -"},
		"a persistent one": {
			zk.FlagPersistent, "x-lock-0000000003", "delete it: zklock break /app/lock --node x-lock-0000000003\n", `"session":"0x0","token":`,
			"x-lock-0000000003 is persistent", "It goes with no session", "- (persistent)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			session := beside(t, tc.flags, tc.child)
			table, line := statusOf(t, session)
			require.Contains(t, table, "holds  exclusive  -")
			require.Contains(t, table, tc.note)
			require.Contains(t, line, `"state":"held"`)
			require.Contains(t, line, tc.json)

			l, err := list(t.Context(), session, "/")
			require.NoError(t, err)
			var listed strings.Builder
			require.NoError(t, l.writeTable(&listed))
			require.Contains(t, listed.String(), "/app/lock")
			require.Contains(t, listed.String(), tc.inTheLs)

			var out strings.Builder
			_, err = revoke(t.Context(), session, &out, "/app/lock", "", nil)
			if tc.revoked == "" {
				require.NoError(t, err)
				require.Contains(t, out.String(), "asked ")
			} else {
				require.ErrorContains(t, err, tc.revoked)
				require.Equal(t, exitFailure, codeOf(err))
				require.NotContains(t, out.String(), "gone")
			}

			out.Reset()
			b := breaking{session: session, out: &out, path: "/app/lock", node: "0003", yes: true}
			require.NoError(t, b.run(t.Context()))
			require.Contains(t, out.String(), tc.broken)
			table, _ = statusOf(t, session)
			require.Equal(t, "/app/lock is free.\n", table)
		})
	}
}

// Nobody waits for the paths of other locks, which have holders of their own.
func TestThePathsBelowALockAreNoPartOfIt(t *testing.T) {
	session := beside(t, zk.FlagPersistent, "order-0000000003", "order-1234567890", "0000000001")
	table, line := statusOf(t, session)
	require.Contains(t, table, "/app/lock is no lock: something else is there.")
	require.Contains(t, line, `"state":"no lock"`)
	_, err := revoke(t.Context(), session, new(strings.Builder), "/app/lock", "", nil)
	require.ErrorContains(t, err, "nobody holds /app/lock")
	for _, path := range []string{"/app/lock", "/app/lock/order-0000000003", "/app/lock/0000000001"} {
		l, err := zklock.New(session, path)
		require.NoError(t, err)
		_, err = l.Acquire(t.Context())
		require.NoError(t, err)
	}
	all, err := list(t.Context(), session, "/")
	require.NoError(t, err)
	require.Len(t, all.found, 3)
	for _, v := range all.found {
		require.Len(t, v.found, 1)
	}
}

func TestStatusTellsOfWhatMayNotWaitForALock(t *testing.T) {
	const (
		kazoos   = "4f1c2d3e5a6b47988a9b0c1d2e3f4a5b__lock__"
		curators = "_c_89828215-0848-46eb-9811-070aa416b844"
		ours     = "_c_89828215-0848-46eb-8000-000000000001"
	)
	session := beside(t, zk.FlagEphemeral, kazoos+"0000000003", kazoos+"0000000005")
	table, _ := statusOf(t, session)
	require.NotContains(t, table, "may not wait", "nobody else is there")
	_, err := session.Conn().Create("/app/lock/"+ours+"-lock-0000000004", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	table, _ = statusOf(t, session)
	require.Contains(t, table, `__lock__0000000003 is of kazoo's lock, which may not wait for zklock's nodes: make it with extra_lock_patterns=["-lock-"].`)
	require.Equal(t, 1, strings.Count(table, "may not wait"), "however many it has")

	table, _ = statusOf(t, beside(t, zk.FlagEphemeral, curators+"-latch-0000000003"))
	require.Contains(t, table, "-latch-0000000003 is of Curator's LeaderLatch, which may not wait for zklock's nodes: give it a path of its own", "whoever comes fails")
	require.NotContains(t, table, "of no form")

	semaphore := beside(t, zk.FlagPersistent, "leases", "locks")
	for _, node := range []string{"leases/" + ours + "-lease-0000000001", "leases/" + curators + "-lease-0000000002", "locks/" + curators + "-lock-0000000003"} {
		_, err := semaphore.Conn().Create("/app/lock/"+node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	table, _ = statusOf(t, semaphore)
	require.Contains(t, table, "locks/"+curators)
	require.NotContains(t, table, "may not wait", "Curator's InterProcessSemaphoreV2 does")
}
