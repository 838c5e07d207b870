package nemesis

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The leader counts a session down from the last touch that a follower relayed.
// After a quiet gap that is long ago, whatever write was committed since. Here the
// holder's process is stopped for half of its session timeout.
func TestAfterAQuietGapAHoldIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatLoss(t, hang, func(g *group) {
		g.lock()
		g.awaitProofs(shortTimeout / 4)
		pauseFor(rand.N(shortTimeout / 16))
		require.NoError(t, g.worker.Stop())
		pauseFor(shortTimeout / 2)
		require.NoError(t, g.worker.Continue())
		g.awaitProofs(shortTimeout / 40) // before the follower has the time to relay a touch
	})
}

// An idle session only pings. Its first lock is the first write in a long time.
func TestTheFirstLockOfAnIdleSessionIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatLoss(t, hang, func(g *group) {
		pauseFor(shortTimeout/3 + rand.N(shortTimeout/3))
		g.lock()
	})
}
