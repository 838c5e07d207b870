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
