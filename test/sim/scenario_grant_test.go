package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
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
			a.keeps(h, gap)
		})
	}
}

// While a connect request is unheard a lease is short from the first. A create that was
// not quick begins none, and to have waited until another could is not to have made it.
func TestAGrantLeavesTimeForTheNextProofWhileAConnectRequestIsUnheard(t *testing.T) {
	for gap := time.Duration(0); gap < timeout; gap += timeout / 200 {
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			h := a.mustTake()
			a.leaveUnheard()
			require.NoError(t, a.give(h))
			time.Sleep(gap)
			a.delay(timeout / 80)
			h = a.mustTake()
			a.delay(timeout / 20)
			a.keeps(h, gap)
		})
	}
}

// Who comes to the head of the queue may have as little left of the lease of another
// hold, and no doubt to wait for.
func TestAGrantAfterAWaitLeavesTimeForTheNextProof(t *testing.T) {
	for gap := time.Duration(0); gap < timeout/4; gap += timeout / 200 {
		play(t, 1, func(s *stage) {
			a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
			other, err := zklock.New(a.Session, "/other")
			require.NoError(t, err)
			hold, err := other.Acquire(context.Background())
			require.NoError(t, err)
			a.leaveUnheard()
			first := b.mustTake()
			second := c.waits(context.Background())
			third := a.waits(context.Background())
			require.NoError(t, hold.Release(context.Background()))
			time.Sleep(gap)
			a.delay(timeout / 20)
			require.NoError(t, b.give(first))
			require.NoError(t, c.give(<-second))
			h := <-third
			a.keeps(h, gap)
		})
	}
}

// keeps requires that the player keeps what it has taken that long after another hold.
func (p *player) keeps(h *zklock.Hold, gap time.Duration) {
	time.Sleep(2 * timeout)
	assert.NoError(p.stage, h.Err(), "%v after the hold before", gap)
	if h.Err() == nil {
		require.NoError(p.stage, p.give(h))
	}
}

// leaveUnheard has a connect request of the player's get no answer, and the next one get
// one.
func (p *player) leaveUnheard() {
	unheard := p.stage.HoldRequest(zktest.OpConnect, zktest.OnClient(p.place))
	p.place.Cut()
	<-unheard.Struck()
	time.Sleep(timeout / 2)
}

// delay has the player's requests take that long.
func (p *player) delay(trip time.Duration) {
	p.place.Delay(zktest.ToServer, trip/2, trip/2)
	p.place.Delay(zktest.ToClient, trip/2, trip/2)
}
