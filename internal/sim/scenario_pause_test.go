package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// The leader finds the lock's create in its buffers when it goes on, commits it,
// and then ends the session, of which it has heard nothing for too long.
func TestF22ALockAskedForWhileTheLeaderIsPausedIsNotGrantedByASessionThatEnds(t *testing.T) {
	ended := 0
	for seed := range int64(60) {
		play(t, 3, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake())) // so that the path is there
			time.Sleep(timeout)
			mine, _ := a.server()
			leader := s.Leader()
			if mine == leader {
				return
			}
			first := a.ID()
			leader.Freeze()
			time.Sleep(timeout/2 + time.Duration(seed)*timeout/120)
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				if h, err := a.take(context.Background()); err == nil {
					time.Sleep(timeout)
					a.give(h)
				}
			}()
			time.Sleep(timeout / 10)
			leader.Thaw()
			<-asked
			if a.ID() != first {
				ended++
			}
		}, zktest.WithSeed(seed), zktest.WithTickTime(timeout/2), zktest.WithSyncLimit(10),
			zktest.WithServerLatency(0, time.Millisecond), zktest.WithDiskLatency(0, time.Millisecond))
	}
	require.Positive(t, ended, "no schedule came near")
}

// A hold whose proofs go unanswered is lost while the leader, which might end every
// session as soon as it goes on, is still paused.
func TestF22AHoldIsLostBeforeAPausedLeaderGoesOn(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		time.Sleep(timeout)
		leader := s.Leader()
		leader.Freeze()
		start := time.Now()
		<-h.Lost()
		require.Less(t, time.Since(start), timeout*3/5+tick/10)
		leader.Thaw()
		require.NoError(t, a.give(a.mustTake()))
	}, zktest.WithSyncLimit(10))
}
