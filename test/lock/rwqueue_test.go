package lock_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// A Locker and zk.Lock on the path of a reader/writer lock count as writers.
func TestALockerAndZkLockExcludeReadersAndWriters(t *testing.T) {
	at := newSite(t)
	rw, l := at.rw(at.session()), at.stranger()
	rw.RLock()
	require.False(t, l.TryLock())
	rw.RUnlock()
	l.Lock()
	require.False(t, rw.TryRLock())
	require.False(t, rw.TryLock())
	l.Unlock()

	foreign := zk.NewLock(at.conn, at.path, zk.WorldACL(zk.PermAll))
	rw.RLock()
	locked := begin(foreign.Lock)
	at.awaitQueue(2)
	requireSilent(t, locked, "a reader has the lock")
	rw.RUnlock()
	require.NoError(t, receive(t, locked, "zk.Lock's turn"))
	require.False(t, rw.TryRLock())
	require.NoError(t, foreign.Unlock())
	require.True(t, rw.TryRLock())
	rw.RUnlock()
}
