package main

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/bench/internal/driver"
	"github.com/zklock/zklock/bench/internal/result"
	"github.com/zklock/zklock/bench/internal/work"
)

var someone = work.Party{Name: "someone", Role: result.Peer, Process: "floor"}

// toy is a work that needs no server.
func toy(id string, measure func() (work.Numbers, error)) work.Work {
	return work.Work{
		ID: id, Parties: []work.Party{someone}, Shows: []work.Quantity{{Number: "n", Per: 1}},
		Measure: func(context.Context, *work.Bench, work.Party, string) (work.Numbers, error) { return measure() },
	}
}

func one() (work.Numbers, error) { return work.Numbers{"n": 1}, nil }

func toyBench(t *testing.T) *work.Bench {
	start := func(ctx context.Context, name string) (*driver.Process, error) { return driver.Go(ctx, name, "") }
	p, err := start(t.Context(), someone.Process)
	require.NoError(t, err)
	b := &work.Bench{Processes: map[string]*driver.Process{someone.Process: p}, Start: start}
	t.Cleanup(b.Close)
	return b
}

func toyPlan(works ...work.Work) work.Plan {
	return work.Plan{Works: works, Rounds: 3, Smoke: true, Progress: func(string, time.Duration) {}}
}

func values(out work.Outcome, i int) []float64 {
	if len(out.Figures[i].Rows) == 0 {
		return nil
	}
	return out.Figures[i].Rows[0].Values
}

func TestWhatFailsKeepsNothingElseFromBeingMeasured(t *testing.T) {
	calls := 0
	out := toyBench(t).Run(t.Context(), toyPlan(
		toy("always", func() (work.Numbers, error) { return nil, errors.New("no luck") }),
		toy("once", func() (work.Numbers, error) {
			if calls++; calls == 2 {
				return work.Numbers{"n": math.NaN()}, nil
			}
			return one()
		}),
		toy("never", one),
	))
	require.Empty(t, values(out, 0))
	require.Equal(t, []float64{1, 1}, values(out, 1))
	require.Equal(t, []float64{1, 1, 1}, values(out, 2))
	require.Equal(t, []string{
		"round 1 of 3, always by someone: no luck",
		"round 2 of 3, always by someone: no luck",
		"round 2 of 3, once by someone: n is NaN",
	}, out.Notes)
	require.ErrorContains(t, complete(out), "always/n was not measured")
}

func TestAWorkerThatEndsIsReplaced(t *testing.T) {
	b := toyBench(t)
	first := true
	out := b.Run(t.Context(), toyPlan(toy("deadly", func() (work.Numbers, error) {
		if first {
			first = false
			b.Processes[someone.Process].Close()
		}
		return one()
	})))
	require.Equal(t, []float64{1, 1, 1}, values(out, 0))
	require.Len(t, out.Notes, 1)
}

func TestARunThatEndsEarlyHasWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plan := toyPlan(toy("work", one))
	plan.Keep = func(out work.Outcome) {
		require.Equal(t, []float64{1}, values(out, 0))
		cancel()
	}
	out := toyBench(t).Run(ctx, plan)
	require.NotEmpty(t, values(out, 0))
	require.NotEmpty(t, out.Notes)

	plan.Keep, plan.Limit = nil, time.Nanosecond
	out = toyBench(t).Run(t.Context(), plan)
	require.Equal(t, []string{"there was no time for 3 of 3 measurements"}, out.Notes)
}
