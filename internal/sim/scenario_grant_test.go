package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// What an earlier hold has left of the lease may be short, and a create that was not
// quick does not make it longer: a hold that begins with it needs the next proof.
func TestAGrantLeavesTimeForTheNextProof(t *testing.T) {
	const create, proof = timeout / 100, timeout / 21
	for gap := time.Duration(0); gap < timeout; gap += timeout / 200 {
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			h := a.mustTake()
			time.Sleep(timeout)
			require.NoError(t, a.give(h))
			time.Sleep(gap)
			a.delay(create)
			h = a.mustTake()
			time.Sleep(timeout / 32) // a first proof goes at once, and shows no more than the create
			a.delay(proof)
			time.Sleep(2 * timeout)
			assert.NoError(t, h.Err(), "%v after the hold before", gap)
			if h.Err() == nil {
				require.NoError(t, a.give(h))
			}
		})
	}
}

// delay has the player's requests take that long.
func (p *player) delay(trip time.Duration) {
	p.place.Delay(zktest.ToServer, trip/2, trip/2)
	p.place.Delay(zktest.ToClient, trip/2, trip/2)
}
