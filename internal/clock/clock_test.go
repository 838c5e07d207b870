package clock_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
)

// A reading that has begun before a sleep and ends behind another that shows it must
// not look as if the clock had been set back.
func TestASleepThatManyReadAtOnceCountsOnce(t *testing.T) {
	const sleeps, readers = 200, 4
	var c clock.Clock
	began := c.Now()
	var over atomic.Bool
	var work sync.WaitGroup
	for range readers {
		work.Go(func() {
			for last := c.Now(); !over.Load(); {
				now := c.Now()
				assert.GreaterOrEqual(t, now.Least(last), time.Duration(0))
				last = now
			}
		})
	}
	for range sleeps {
		c.Step(time.Hour)
		c.Now()
		c.Step(-time.Hour)
		c.Now()
	}
	over.Store(true)
	work.Wait()
	now := c.Now()
	slept := now.Most(began) - now.Least(began)
	require.InDelta(t, sleeps*time.Hour, slept, float64(time.Minute))
}

func TestTheZeroInstantIsBeforeAnyOther(t *testing.T) {
	var c clock.Clock
	require.True(t, clock.Instant{}.IsZero())
	require.False(t, c.Now().IsZero())
	require.Greater(t, c.Now().Least(clock.Instant{}.Add(time.Hour)), 50*365*24*time.Hour)
}
