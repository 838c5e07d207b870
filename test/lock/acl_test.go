package lock_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// team connects a session that logs in as name, and returns a list that lets it alone do what perms allow.
func team(t *testing.T, e *apachezk.Ensemble, name string, perms int32) (*zklock.Session, []zk.ACL) {
	t.Helper()
	s, err := zklock.Connect(t.Context(), e.Addrs(), 10*time.Second, zklock.WithAuth("digest", []byte(name+":secret")))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s, zk.DigestACL(perms, name, "secret")
}

// wrongLists keep their own session out, or are none.
var wrongLists = map[string][]zk.ACL{
	"a password for a hash":   {{Perms: zk.PermAll, Scheme: "digest", ID: "ledger:secret"}},
	"another user's":          zk.DigestACL(zk.PermAll, "ann", "secret"),
	"nobody may read":         zk.WorldACL(zk.PermAll &^ zk.PermRead),
	"nobody may create":       zk.WorldACL(zk.PermAll &^ zk.PermCreate),
	"a scheme without a name": {{Perms: zk.PermAll, Scheme: "sasl", ID: "ledger"}},
}

func TestWhatOperationsSaysOfACLsIsTrueOfApache(t *testing.T) {
	t.Parallel()
	e := apachezk.Run(t)
	ledger, all := team(t, e, "ledger", zk.PermAll)
	other, _ := team(t, e, "other", zk.PermAll)
	for name, wrong := range wrongLists {
		for what, take := range belowPaths {
			_, err := take(t.Context(), ledger, "/a/new/one", wrong)
			require.ErrorContains(t, err, "ACL", "%s: %s", what, name)
			top, _, err := other.Conn().Children("/")
			require.NoError(t, err)
			require.Equal(t, []string{"zookeeper"}, top, "%s: %s", what, name)
		}
	}
	take := func(s *zklock.Session, path string, acl []zk.ACL) error {
		l, err := zklock.New(s, path, zklock.WithACL(acl))
		require.NoError(t, err)
		if err := l.LockContext(t.Context()); err != nil {
			return err
		}
		return l.UnlockContext(t.Context())
	}
	world := zk.WorldACL(zk.PermAll)

	require.NoError(t, take(ledger, "/missing/ledger", all))
	require.NoError(t, take(other, "/missing/other", world), "the first lock does not shut the others out")
	require.ErrorIs(t, take(other, "/missing/ledger", world), zk.ErrNoAuth)
	require.ErrorIs(t, other.Conn().Delete("/missing/other", -1), zk.ErrNoAuth, "who is not in the list may create, and no more")
	_, _, err := other.Conn().Children("/missing")
	require.ErrorIs(t, err, zk.ErrNoAuth)

	_, err = other.Conn().Create("/missing/first", nil, zk.FlagPersistent, world)
	require.NoError(t, err)
	l, err := zklock.New(ledger, "/missing/first", zklock.WithACL(all))
	require.NoError(t, err)
	held, err := l.Acquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, other.Conn().Delete(held.Node(), -1), "whoever makes a lock's path decides who may delete there")

	_, err = ledger.Conn().Create("/locks", nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead|zk.PermCreate))
	require.NoError(t, err)
	require.NoError(t, take(ledger, "/locks/ledger", all))
	require.NoError(t, take(other, "/locks/other", world))
	require.ErrorIs(t, take(other, "/locks/ledger", world), zk.ErrNoAuth)

	// What the table says is enough.
	rights := zk.DigestACL(zk.PermRead|zk.PermCreate|zk.PermDelete, "ledger", "secret")
	_, err = ledger.Conn().Create("/locks/least", nil, zk.FlagPersistent, rights)
	require.NoError(t, err)
	_, read := team(t, e, "ledger", zk.PermRead)
	require.NoError(t, take(ledger, "/locks/least", read))
	for _, node := range []string{"", "/locks", "/leases"} {
		list := rights
		if node == "/leases" {
			list = zk.DigestACL(zk.PermRead|zk.PermCreate|zk.PermDelete|zk.PermWrite, "ledger", "secret")
		}
		_, err = ledger.Conn().Create("/locks/permits"+node, nil, zk.FlagPersistent, list)
		require.NoError(t, err)
	}
	permits, err := zklock.NewSemaphore(ledger, "/locks/permits", 2, zklock.WithACL(read))
	require.NoError(t, err)
	h, err := permits.Acquire(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, h.Release(t.Context()))
}

// It says by its setting how it makes the id of a user who logs in.
func TestWithAnotherDigestAlgorithmAnIdOfSHA1LeavesNothingAndAuthACLIsRight(t *testing.T) {
	t.Parallel()
	e := apachezk.Run(t, func(c *apachezk.Config) {
		c.Settings = map[string]string{"DigestAuthenticationProvider.digestAlg": "SHA-256"}
	})
	ledger, sha1 := team(t, e, "ledger", zk.PermAll)
	for what, take := range belowPaths {
		path := "/" + what[2:]
		_, err := take(t.Context(), ledger, path, sha1)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the servers' digestAlg is not SHA-1")
		exists, _, err := ledger.Conn().Exists(path)
		require.NoError(t, err)
		require.False(t, exists, what)
		leave, err := take(t.Context(), ledger, path, zk.AuthACL(zk.PermAll))
		require.NoError(t, err, what)
		require.NoError(t, leave(t.Context()))
	}
}
