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

func TestWhatOperationsSaysOfACLsIsTrueOfApache(t *testing.T) {
	e := apachezk.Run(t)
	ledger, all := team(t, e, "ledger", zk.PermAll)
	other, _ := team(t, e, "other", zk.PermAll)
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
	require.ErrorIs(t, take(other, "/missing/other", world), zk.ErrNoAuth, "the first lock's list is on the parent that it created")

	_, err := ledger.Conn().Create("/locks", nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead|zk.PermCreate))
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
