package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

func TestAPulseTellsForHowLongTheProcessDidNotRun(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const every = time.Second
		var c Clock
		var told []time.Duration
		p := NewPulse(&c, every, func(stopped time.Duration) { told = append(told, stopped) }, func() {})
		start := c.Now()
		c.Stall(time.Hour)
		require.Zero(t, p.Stopped(start), "it does not beat yet")
		p.Start()
		defer p.Stop()
		start = c.Now()
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		requireStopped := func(since Instant, least, most time.Duration) {
			t.Helper()
			require.GreaterOrEqual(t, p.Stopped(since), least)
			require.LessOrEqual(t, p.Stopped(since), most)
			require.Equal(t, c.Now().Least(since), p.Ran(since)+p.Stopped(since))
		}
		pass(time.Hour)
		c.Step(time.Hour) // the machine sleeps
		pass(time.Hour)
		c.Stall(every - 1)
		pass(time.Hour)
		requireStopped(start, 0, 0)
		require.Empty(t, told)

		c.Stall(19 * time.Second)
		requireStopped(start, 18*time.Second, 19*time.Second)
		pass(time.Minute)
		requireStopped(start, 18*time.Second, 19*time.Second)
		between := c.Now()
		pass(time.Minute)
		c.Stall(7500 * time.Millisecond)
		requireStopped(start, 24500*time.Millisecond, 26500*time.Millisecond)
		requireStopped(between, 6500*time.Millisecond, 7500*time.Millisecond)
		requireStopped(c.Now(), 0, 0)
		pass(time.Minute)
		require.Len(t, told, 2)

		for range 2 * mostStops {
			c.Stall(time.Minute)
			pass(time.Minute)
		}
		requireStopped(start, mostStops*(time.Minute-every), mostStops*time.Minute)
		p.Stop()
		told = nil
		c.Stall(time.Hour)
		pass(time.Hour)
		requireStopped(c.Now().Add(-time.Minute), 0, time.Minute)
		require.Empty(t, told)
	})
}
