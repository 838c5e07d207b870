package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

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
