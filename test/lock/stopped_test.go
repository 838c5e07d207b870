package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/zktest"
)

// requireNoFaultOfOthers checks that what is said of a stop blames nobody but this process.
func requireNoFaultOfOthers(t *testing.T, said string) {
	t.Helper()
	for _, fault := range []string{"no connection", "does not answer", "gets nowhere", "timeout\"", "EOF"} {
		require.NotContains(t, said, fault)
	}
}

func TestAProcessThatWasStoppedIsToldSo(t *testing.T) {
	const timeout = 10 * time.Second
	for _, stop := range []time.Duration{7500 * time.Millisecond, 19 * time.Second} {
		t.Run(stop.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var c clock.Clock
				var log lockedBuffer
				s := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, timeout,
					zklock.WithDialer(b.server.Dial), informed(&log)))
				defer s.Close()
				idle := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, timeout,
					zklock.WithDialer(b.server.Dial), informed(&log)))
				defer idle.Close()
				h := must(b.locker(s).Acquire(t.Context()))
				time.Sleep(timeout)
				c.Stall(stop)
				<-h.Lost()
				time.Sleep(time.Minute)
				for _, said := range []string{h.Err().Error(), log.String()} {
					require.Contains(t, said, "the session could not be proved alive in time (this process did not run for ")
					requireNoFaultOfOthers(t, said)
				}
				require.Equal(t, 2, strings.Count(log.String(), `level=WARN msg="zklock: this process did not run" lasted=`), log.String())
			})
		})
	}
}

// Its answer may have come meanwhile, and wait to be read.
func TestAServerIsNotBlamedForAStopThatAProofHasGoneThrough(t *testing.T) {
	for _, stop := range []time.Duration{0, 2 * time.Second} {
		inBubble(t, func(t *testing.T, b *bubble) {
			var c clock.Clock
			var log lockedBuffer
			s := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, 10*time.Second,
				zklock.WithDialer(b.server.Dial), informed(&log)))
			defer s.Close()
			b.locker(s).Lock()
			proof := b.server.HoldReply(zktest.OpMulti)
			<-proof.Struck()
			c.Stall(stop)
			time.Sleep(5 * time.Second)
			proof.Release()
			require.Equal(t, stop == 0, strings.Contains(log.String(), "does not answer"), log.String())
		})
	}
}

func TestAMachineThatSleptIsToldSo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var c clock.Clock
		s := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(b.server.Dial)))
		defer s.Close()
		h := must(b.locker(s).Acquire(t.Context()))
		c.Step(time.Hour)
		<-h.Lost()
		require.ErrorContains(t, h.Err(), "could not be proved alive in time (this machine slept for 1h0m0s, or its clock was set forward)")
	})
}
