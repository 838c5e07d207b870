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
			require.NoError(s, b.give(<-waiting)) // the checker has seen that a was told first
			a.place.Unblock()
		}, fineTicks...)
	}
}

// A server that grants less than the one before it shortens the session, and from then
// on a proof is worth less, too.
func TestF28TheLeaseFollowsATimeoutThatShrinksAtAReconnect(t *testing.T) {
	for _, part := range []float64{0.3, 0.5, 0.75} {
		play(t, 3, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			h := a.mustTake()
			waiting := b.waits(context.Background())
			mine, others := a.server()
			granting(part, others...)
			mine.Refuse(true)
			a.place.Cut()
			time.Sleep(2 * timeout)
			require.NoError(s, h.Err())
			a.cutOff()
			cut := time.Now()
			<-h.Lost()
			require.LessOrEqual(s, time.Since(cut), time.Duration(part*float64(timeout))*3/5)
			require.NoError(s, b.give(<-waiting)) // the checker has seen that a was told first
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

// A session that holds nothing may have a lease all the same, and takes its next lock under
// that: what it asked for in between, and has no answer to, ends it as any other.
func TestAHandshakeOfASessionThatHoldsNothingMayBeCarriedOutWhenItHoldsAgain(t *testing.T) {
	for _, part := range []float64{0.3, 0.4} {
		play(t, 3, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			a.moveToFollower()
			mine, others := a.server()
			hung, leader := others[0], others[1]
			if hung == s.Leader() {
				hung, leader = leader, hung
			}
			granting(part, hung)
			require.NoError(s, a.give(a.mustTake()))
			hung.Freeze()
			mine.Refuse(true)
			leader.Refuse(true)
			a.place.Cut()
			time.Sleep(timeout / 20) // it asks the server that hangs
			leader.Refuse(false)
			h := a.mustTake()
			at, _ := a.server()
			require.Equal(s, leader, at)
			waiting := b.waits(context.Background())
			a.place.Block(zktest.ToServer, leader)
			a.place.Block(zktest.ToClient, leader)
			hung.Thaw() // which finds the handshake in its buffers
			a.cutOff()
			<-h.Lost()
			require.NoError(s, b.give(<-waiting)) // the checker has seen that a was told first
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

// A server that takes longer to commit than a handshake was given made a client
// without a session open one after the other, and hear of none.
func TestASlowServerGetsAClientIntoItsFirstSession(t *testing.T) {
	play(t, 1, func(s *stage) {
		s.Client("a").Delay(zktest.ToClient, timeout/5, timeout/5)
		a := s.enter("a")
		require.Len(t, s.Sessions(), 1)
		require.NoError(t, a.give(a.mustTake()))
	})
}

// A handshake had an eighth of the timeout, also when the session that this was to
// save had ended, so that a client never heard of that from a server slower than this.
func TestASlowServerGetsAClientBackWhoseSessionHasExpired(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		first := a.ID()
		a.cutOff()
		time.Sleep(timeout + 2*tick)
		require.Empty(t, s.Sessions())
		a.place.Unblock()
		a.place.Delay(zktest.ToClient, timeout/5, timeout/5)
		require.NoError(t, a.give(a.mustTake()))
		require.NotEqual(t, first, a.ID())
	})
}

var twoLogins = []zklock.SessionOption{
	zklock.WithAuth("digest", []byte("user:secret")), zklock.WithAuth("digest", []byte("other:secret")),
}

// A server answers credentials itself, without touching the session: a lease that
// counted that as a touch outlived the session.
func TestTheAnswerToALoginIsNoTouch(t *testing.T) {
	play(t, 3, func(s *stage) {
		time.Sleep(tick)
		var follower *zktest.Server
		for _, server := range s.Servers() {
			if server != s.Leader() {
				follower = server
			}
		}
		a := s.enterAt("a", []string{follower.PipeAddr()}, twoLogins...)
		require.NoError(s, a.give(a.mustTake()))
		time.Sleep(timeout)

		// The touch that the new connection is, is relayed with the next tick.
		time.Sleep(time.Until(time.Now().Truncate(tick).Add(tick - 20*time.Millisecond)))
		first, second := s.HoldReply(zktest.OpAuth), s.HoldReply(zktest.OpAuth)
		s.CutSession(a.ID())
		time.Sleep(600 * time.Millisecond)
		first.Release()
		time.Sleep(600 * time.Millisecond)
		second.Release()
		time.Sleep(510 * time.Millisecond)
		h := a.mustTake()
		s.Partition(follower)
		gone := s.gone(h.Node())
		<-h.Lost()
		require.True(s, isOpen(gone), "the session ended before its hold was lost")
		<-gone
		s.Heal()
	})
}
