package lock_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestMissingParentsAreMadeAsContainersAndVanishWhenIdle(t *testing.T) {
	at := newSite(t)
	top := at.path
	at.path += "/deep/below"
	l := at.stranger()
	l.Lock()
	first := l.Held().Token()
	l.Unlock()
	eventually(t, "the server to remove the containers", func() bool {
		exists, _, err := at.conn.Exists(top)
		require.NoError(t, err)
		return !exists
	})
	l.Lock()
	defer l.Unlock()
	require.Greater(t, l.Held().Token(), first, "the token rises although the sequence starts anew")
}

func TestAParentThatExistsStaysAsItIs(t *testing.T) {
	at := newSite(t)
	acl := zk.WorldACL(zk.PermCreate | zk.PermDelete | zk.PermRead)
	_, err := at.conn.Create(at.path, []byte("mine"), zk.FlagPersistent, acl)
	require.NoError(t, err)
	l := at.stranger()
	l.Lock()
	require.NoError(t, l.UnlockContext(context.Background()))
	data, stat, err := at.conn.Get(at.path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
	require.Zero(t, stat.EphemeralOwner)
	got, _, err := at.conn.GetACL(at.path)
	require.NoError(t, err)
	require.Equal(t, acl, got)
}

// The server removes idle containers while the lock is taken and given back, so that some
// creates and lists find no parent.
func TestTheLockOutlivesTheRemovalOfItsParent(t *testing.T) {
	at := newSite(t)
	top := at.path
	at.path += "/below"
	s := at.session()
	l := at.locker(s)
	token := int64(0)
	for range 30 {
		require.NoError(t, l.LockContext(within(t, patience)))
		h := l.Held()
		at.requireHeld(h, s)
		require.Greater(t, h.Token(), token)
		token = h.Token()
		require.NoError(t, l.UnlockContext(within(t, patience)))
		for _, parent := range []string{at.path, top} {
			if err := at.conn.Delete(parent, -1); err != nil {
				require.ErrorIs(t, err, zk.ErrNoNode)
			}
		}
	}
}
