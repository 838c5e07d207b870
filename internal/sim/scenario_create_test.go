package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// The numbers are those of the catalogue of faults in docs/faults.md.

func TestF02ACreateWhoseReplyIsLostLeavesOneNode(t *testing.T) {
	for _, servers := range []int{1, 3} {
		play(t, servers, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake())) // makes the path, without which the create is refused
			lost := s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
			h := a.mustTake()
			<-lost.Struck()
			s.heldBy(a, h)
			require.Equal(t, 2, s.created())
			require.NoError(t, a.give(h))
			s.empty(0)
		})
	}
}

func TestF03ACreateThatWasNeverSentLeavesOneNode(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		s.DropRequest(zktest.OpCreate, zktest.OnPath(path+"/"))
		h := a.mustTake()
		require.Equal(t, 1, s.created())
		require.NoError(t, a.give(h))
	})
}

func TestF04ALostCreateIsFoundThoughTheNextServerLags(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		require.NoError(t, a.give(a.mustTake())) // makes the path
		time.Sleep(tick)                         // so that the others know all that a has seen
		mine, others := a.server()
		for _, other := range others {
			other.Lag(200 * time.Millisecond)
		}
		lost := mine.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
		go func() {
			<-lost.Struck()
			mine.Refuse(true)
		}()
		before := s.created()
		h := a.mustTake()
		s.heldBy(a, h)
		require.Equal(t, before+1, s.created())
		require.NoError(t, a.give(h))
		s.empty(0)
	}, zktest.WithServerLatency(time.Millisecond, time.Millisecond))
}

// CURATOR-498, CURATOR-604. The old session's node stays until the server ends that.
func TestF05TheNodeOfADeadSessionIsNotAdopted(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, forget := s.enterForgotten("a")
		require.NoError(t, a.give(a.mustTake()))
		dead := a.ID()
		s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
		forget.Store(true)
		h := a.mustTake()
		require.NotEqual(t, dead, a.ID())
		require.Equal(t, 3, s.created())
		s.heldBy(a, h)
		require.NoError(t, a.give(h))
		s.empty(0)
	})
}

func TestF06ACreateThatIsExecutedInTheNextSessionIsDeleted(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a", zklock.WithAuth("digest", []byte("user:secret")))
		require.NoError(t, a.give(a.mustTake()))
		first := a.ID()
		// After the handshake the client sends its credentials, and what it is
		// asked for meanwhile waits until they are accepted, by whatever connection.
		login := s.HoldReply(zktest.OpAuth)
		a.place.Cut()
		<-login.Struck()
		synctest.Wait()
		const callers = 4
		results := make(chan *zklock.Hold, callers)
		for range callers {
			ctx, cancel := context.WithTimeout(context.Background(), anAge)
			defer cancel()
			go func() {
				h, _ := a.take(ctx)
				results <- h
			}()
		}
		synctest.Wait()
		a.expire()
		a.place.Cut()
		login.Release()
		for range callers {
			h := <-results
			require.NotNil(t, h)
			require.NotEqual(t, first, a.ID())
			s.heldBy(a, h)
			require.NoError(t, a.give(h))
		}
		s.empty(time.Second)
	})
}

func TestF07ACreateThatArrivesByAnOldServerMakesNoNode(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		require.NoError(t, a.give(a.mustTake()))
		a.moveToFollower() // whose requests have to travel on
		mine, others := a.server()
		s.Block(mine, s.Leader())
		waiting := make(chan *zklock.Hold)
		go func() { waiting <- a.mustTake() }()
		time.Sleep(50 * time.Millisecond)
		mine.Refuse(true)
		a.place.Cut()
		h := <-waiting
		require.Contains(t, others, func() *zktest.Server { now, _ := a.server(); return now }())
		s.Heal()
		time.Sleep(time.Second)
		require.Equal(t, []string{h.Node()}, s.referee.nodes())
		require.NoError(t, a.give(h))
		s.empty(0)
	}, zktest.WithServerLatency(time.Millisecond, time.Millisecond))
}

func TestF08ACallWhoseCtxEndsReturnsAtOnceAndLeavesNoNode(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpCreate, zktest.OpGetChildren2} {
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake()))
			held := s.HoldReply(op, zktest.OnPath(path))
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := a.LockContext(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(start), 100*time.Millisecond+soon)
			held.Release()
			s.empty(time.Second)
		})
	}
}

func TestF30ThePathGoesBetweenTwoLocksAndTokensGoOnRising(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		first := a.mustTake()
		require.NoError(t, a.give(first))
		time.Sleep(5 * time.Second) // until the empty container has been removed
		require.Nil(t, s.Server(0).Children(path))
		second := a.mustTake()
		require.Contains(t, second.Node(), "-0000000000")
		require.Greater(t, second.Token(), first.Token())
		require.NoError(t, a.give(second))
	}, zktest.WithContainerInterval(time.Second))
}
