package lock_test

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// limit lets so many nodes be below the path, which has to be there.
func (at *site) limit(nodes int) {
	at.t.Helper()
	quota := "/zookeeper/quota" + at.path
	for _, node := range []struct{ path, data string }{
		{quota, ""},
		{quota + "/zookeeper_limits", fmt.Sprintf("count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=%d", 1+nodes)},
		{quota + "/zookeeper_stats", "count=1,bytes=0"},
	} {
		_, err := at.conn.Create(node.path, []byte(node.data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(at.t, err)
	}
}

func TestAQuotaRefusesAContenderAndLeavesTheHolderAlone(t *testing.T) {
	t.Parallel()
	addr := apachezk.Run(t, func(c *apachezk.Config) { c.Settings = map[string]string{"enforceQuota": "true"} }).Server(0).Addr()
	refused := func(t *testing.T, err error, dir string) {
		t.Helper()
		require.ErrorContains(t, err, "the quota of "+dir+",")
		require.ErrorContains(t, err, "-125")
	}
	limited := func(t *testing.T, nodes int) (at *site, holder, other *zklock.Session) {
		t.Helper()
		at = siteAt(t, addr)
		at.makeParent()
		at.limit(nodes)
		return at, at.session(), at.session()
	}
	t.Run("of a lock", func(t *testing.T) {
		at, s, other := limited(t, 1)
		h, err := at.locker(s).Acquire(within(t, patience))
		require.NoError(t, err)
		l := at.locker(other)
		refused(t, l.LockContext(within(t, patience)), at.path)
		require.NoError(t, h.Err())
		at.awaitQueue(1)
		require.NoError(t, h.Release(within(t, patience)))
		require.NoError(t, l.LockContext(within(t, patience)), "there is room again")
	})
	t.Run("that downgrades", func(t *testing.T) {
		at, s, other := limited(t, 1)
		l := at.rw(s)
		l.Lock()
		refused(t, l.RLockContext(within(t, patience)), at.path)
		require.NoError(t, l.Held().Err(), "it still writes")
		require.Nil(t, l.RHeld())
		require.NoError(t, l.UnlockContext(within(t, patience)))
		require.NoError(t, at.rw(other).LockContext(within(t, patience)))
	})
	t.Run("of a semaphore", func(t *testing.T) {
		at, s, other := limited(t, 4) // the parents of turns and permits, a turn, and a permit
		held, sem := take(t, at.semaphore(s, 5), 1), at.semaphore(other, 5)
		at.awaitLine(0)
		_, err := sem.Acquire(within(t, patience), 1)
		refused(t, err, at.path+"/leases")
		require.NoError(t, held.Err())
		at.awaitLine(0)
		at.awaitLeases(1)
		require.NoError(t, held.Release(within(t, patience)))
		take(t, sem, 1)
	})
}

func TestAQuotaThatLeavesNoRoomForWhatIsWrittenIsNamed(t *testing.T) {
	const overQuota = -125
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		held := must(b.semaphore(s, 3).Acquire(t.Context(), 1))
		b.server.RefuseRequest(zktest.OpSetData, overQuota)
		require.ErrorContains(t, zklock.Revoke(t.Context(), s, held.Node()), "the quota of "+held.Node()+",")
		require.NoError(t, held.Release(t.Context()))
		b.server.RefuseRequest(zktest.OpMulti, overQuota, zktest.OnPath(b.path+"/leases"))
		_, err := b.semaphore(s, 30).Acquire(t.Context(), 1)
		require.ErrorContains(t, err, "the quota of "+b.path+"/leases,")
	})
}
