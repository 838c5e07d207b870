package nemesis

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

// A follower that has lost its leader answers pings and reads as before, while the
// leader counts the session down.
func TestAHoldBehindAFollowerThatIsCutOffIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatLoss(t, cutOff, func(g *group) {
		g.lock()
		pauseFor(rand.N(shortTimeout / 3))
	})
}

func TestAHoldOfAClientThatIsCutOffIsLostBeforeItsNodeGoes(t *testing.T) {
	for name, dir := range map[string]faultproxy.Direction{
		"in both directions": faultproxy.Both,
		"when it sends":      faultproxy.ClientToServer,
	} {
		t.Run(name, func(t *testing.T) {
			silence := func(g *group) (undo func()) {
				g.doors.Drop(dir)
				return func() {}
			}
			repeatLoss(t, silence, func(g *group) {
				g.lock()
				pauseFor(rand.N(shortTimeout / 3))
			})
		})
	}
}

// The servers hear everything that such a client sends, and keep its session.
func TestAClientThatHearsNothingLosesItsHold(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	doors := OpenDoors(t, c.Servers()...)
	h := acquireLock(t, connect(t, shortTimeout, doors.Addrs()), "/deaf")
	doors.Drop(faultproxy.ServerToClient)
	receive(t, h.Lost(), "the lease to end")
	doors.Cut()
	doors.Heal()
	next := acquireLock(t, connect(t, shortTimeout, c.Addrs()), "/deaf")
	require.Greater(t, next.Token(), h.Token())
}
