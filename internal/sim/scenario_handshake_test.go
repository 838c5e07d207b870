package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// fineTick keeps the end of a session close to its timeout.
const fineTick = 50 * time.Millisecond

var fineTicks = []zktest.Option{
	zktest.WithTickTime(fineTick), zktest.WithSessionTimeouts(2*fineTick, timeout), zktest.WithSyncLimit(100),
}

// granting makes servers grant no more than a part of the timeout.
func granting(part float64, servers ...*zktest.Server) {
	for _, s := range servers {
		s.SetSessionTimeouts(2*fineTick, time.Duration(part*float64(timeout)))
	}
}

// The handshake reaches a server that grants less, and its answer gets lost: the
// leader counts the session down with the smaller timeout.
func TestAHandshakeWhoseAnswerIsLostMayHaveShortenedTheSession(t *testing.T) {
	for _, part := range []float64{0.3, 0.4, 0.5, 0.75} {
		play(t, 3, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			h := a.mustTake()
			waiting := b.waits(context.Background())
			_, others := a.server()
			granting(part, others...)
			unheard := s.HoldReply(zktest.OpConnect, zktest.OnClient(a.place))
			a.place.Cut()
			<-unheard.Struck()
			a.cutOff()
			asked := time.Now()
			<-h.Lost()
			require.LessOrEqual(s, time.Since(asked), timeout/4*19/20)
			require.False(s, h.Valid())
			require.NoError(s, b.give(<-waiting)) // the referee has seen that a was told first
			a.place.Unblock()
		}, fineTicks...)
	}
}

// A server that hangs reads the handshake when it goes on, though its client has
// found another server since.
func TestAHandshakeMayBeCarriedOutLongAfterItsClientHasLeft(t *testing.T) {
	for _, part := range []float64{0.3, 0.5} {
		play(t, 3, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			a.moveToFollower()
			h := a.mustTake()
			waiting := b.waits(context.Background())
			mine, others := a.server()
			hung, leader := others[0], others[1]
			if hung == s.Leader() {
				hung, leader = leader, hung
			}
			granting(part, hung)
			hung.Freeze()
			mine.Refuse(true)
			leader.Refuse(true)
			a.place.Cut()
			time.Sleep(timeout / 20) // it asks the server that hangs
			leader.Refuse(false)
			time.Sleep(timeout)
			require.NoError(s, h.Err())
			at, _ := a.server()
			require.Equal(s, leader, at)
			a.place.Block(zktest.ToServer, leader)
			a.place.Block(zktest.ToClient, leader)
			hung.Thaw() // which finds the handshake in its buffers
			a.cutOff()
			<-h.Lost()
			require.NoError(s, b.give(<-waiting))
			a.place.Unblock()
		}, fineTicks...)
	}
}

// A server that is away for a second, behind something that accepts connections for
// it and closes them, leaves the first handshake after that without an answer.
func TestAHoldOutlivesAHandshakeThatIsNeverAnsweredAfterARestartBehindAProxy(t *testing.T) {
	const timeout = time.Minute
	play(t, 1, func(s *stage) {
		place := s.Client("a")
		a := s.enterFor("a", s.PipeAddrs(), timeout, zklock.WithDialer(accepting(place.Dial)))
		h := a.mustTake()
		s.Server(0).Stop()
		time.Sleep(time.Second)
		deaf := s.HoldRequest(zktest.OpConnect, zktest.OnClient(place))
		s.Server(0).Restart()
		<-deaf.Struck()
		time.Sleep(timeout)
		require.NoError(s, h.Err())
		require.NoError(s, a.give(h))
	}, zktest.WithSessionTimeouts(timeout, timeout))
}

// However many servers do not answer, the hold is kept by one that does.
func TestHandshakesWithoutAnAnswerLeaveTimeForOneThatIsAnswered(t *testing.T) {
	const timeout = 10 * time.Second
	play(t, 3, func(s *stage) {
		a := s.enterFor("a", s.PipeAddrs(), timeout)
		h := a.mustTake()
		for range 5 {
			s.HoldRequest(zktest.OpConnect, zktest.OnClient(a.place))
		}
		a.place.Cut()
		time.Sleep(timeout)
		require.NoError(s, h.Err())
		require.NoError(s, a.give(h))
	}, zktest.WithSessionTimeouts(timeout, timeout))
}
