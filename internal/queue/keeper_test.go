package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// A run of the timer that waits for the session's mutex goes on after whoever has that sets the
// timer anew.
func TestTheLeaseIsLookedAtByOneTimer(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		l := lockAt(s, "/lock")
		take(t, l)
		looking := func() *time.Timer {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.expiry
		}
		before := looking()
		take(t, lockAt(s, "/other"))
		require.Same(t, before, looking())
		s.looks()
		require.True(t, looking() == before || !before.Stop(), "two timers look at the lease")
	})
}

func TestAConnectionThatIsCutForManyProofsIsToldOfOnce(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const many = 20
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		l := lockAt(s, "/lock")
		h := take(t, l)
		server.Freeze()
		carrier := s.client.Current()
		var proofs sync.WaitGroup
		for range many {
			proofs.Go(func() { _ = s.prove(t.Context(), h.contender, s.lease.Patience(0)) })
		}
		<-carrier.Down()
		s.end()
		proofs.Wait()
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "cutting the connection"))
	})
}

func TestTheEndOfALeaseIsOneHoweverMuchIsHeldAndHoweverOftenItIsFound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, log := connectTold(t, zktest.NewServer(t))
		defer s.end()
		hold(t, s)
		take(t, lockAt(s, "/other"))
		s.mu.Lock()
		ended, now := s.incarnation, s.client.Clock.Now()
		s.endLease()
		s.leaseOver(now)
		s.expire(ended, now)
		s.mu.Unlock()
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "lease over"))
	})
}

func TestTheEndOfALeaseLosesAHoldThoughAnotherLocksNodeIsOnlyKept(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		kept(t, share(s, 1, 24*time.Hour), server)
		h := take(t, lockAt(s, "/other"))
		server.Freeze()
		time.Sleep(sessionTimeout)
		require.ErrorIs(t, h.Err(), ErrLost)
	})
}

func TestWhoHasLostItsNodeIsNotPutUnderTheLease(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		hold(t, s)
		q := lockAt(s, "/lock")
		c, _, err := q.create(t.Context(), s.incarnation, q.lockNode())
		require.NoError(t, err)
		s.mu.Lock()
		require.True(t, s.lasts(c.incarnation, s.client.Clock.Now()))
		c.lose(errNodeDeleted)
		s.mu.Unlock()
		require.ErrorIs(t, c.secure(t.Context()), errNodeDeleted)
		require.Equal(t, 1, s.protected.length)
	})
}

// It waits for one node, which itself waits for others.
func TestAReaderBehindAWriterThatWaitsIsUnderNoLease(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		queue := lockAt(connect(t, server), "/lock")
		first := take(t, queue.Of(recipe.Read))
		written := make(chan *Hold)
		go func() { written <- take(t, queue.Of(recipe.Write)) }()
		synctest.Wait()
		read := make(chan *Hold)
		go func() { read <- take(t, lockAt(s, "/lock").Of(recipe.Read)) }()
		time.Sleep(time.Second)
		require.Zero(t, s.protected.length)
		require.NoError(t, first.Release(t.Context(), nil))
		require.NoError(t, (<-written).Release(t.Context(), nil))
		<-read
	})
}

// Of many holds, the last would be lost late if each one's node was seen to first.
func TestAllHoldsAreLostBeforeTheirNodesAreSeenTo(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		var holds []*Hold
		ended, early := 0, 0
		for i := range 10 {
			l := lockAt(s, fmt.Sprintf("/lock%d", i))
			h := take(t, l)
			holds = append(holds, h)
			h.WhenEnded(func(error) {
				ended++
				for _, h := range holds {
					if h.contender.leaving != nil {
						early++
					}
				}
			})
		}
		server.Freeze()
		for _, h := range holds {
			<-h.Lost()
		}
		server.Thaw()
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Equal(t, len(holds), ended)
		require.Zero(t, early)
	})
}

// A look at the lease may come when nothing is held, or when nobody knows yet which session is
// the next.
func TestALookAtTheLeaseEndsNothingThatItDoesNotCover(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		hold(t, connect(t, server))
		asking(t, connect(t, server), "/lock")
		asking(t, s, "/lock") // which nothing proves
		time.Sleep(10 * sessionTimeout)
		queue := server.Children("/lock")
		server.CutSession(s.client.ID()) // the next connection is looked at
		time.Sleep(time.Second)
		require.ElementsMatch(t, queue, server.Children("/lock"))

		unheard := server.HoldRequest(zktest.OpConnect)
		defer unheard.Release()
		server.ExpireSession(s.client.ID())
		<-unheard.Struck()
		require.NotPanics(t, s.looks)
	})
}

// A goroutine that was late may find the answer to a proof when the lease is over that it would
// have extended.
func TestAProofThatIsAnsweredWhenTheLeaseIsOverBringsNoHoldBack(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(roundTrip/2, roundTrip/2))
		c := new(clock.Clock)
		s := connectBy(t, server, c, reconnectTimeout, client.Options{Dialer: server.Dial})
		h := hold(t, s)
		said := server.HoldReply(zktest.OpMulti)
		<-said.Struck()
		c.Step(s.leaseLeft()) // before anybody looks
		said.Release()
		time.Sleep(roundTrip)
		synctest.Wait()
		require.ErrorIs(t, h.Err(), ErrLost)
	})
}
