package main

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/bench/internal/driver"
	"github.com/zklock/zklock/bench/internal/result"
	"github.com/zklock/zklock/bench/internal/work"
	"github.com/zklock/zklock/bench/internal/worker"
	"github.com/zklock/zklock/internal/apachezk"
)

// TestMain makes the test's program a worker when the test starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-"+driver.WorkerFlag {
		if err := worker.Serve(os.Args[2], ""); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEveryPartyTakesTheLockAndExcludes relies on the workers, which fail when
// two hold the lock at the same time.
func TestEveryPartyTakesTheLockAndExcludes(t *testing.T) {
	if _, err := apachezk.Find(); errors.Is(err, apachezk.ErrNotInstalled) {
		t.Skip(err)
	}
	o, err := parseFlags([]string{"-works", "^sessions-2-loopback$|^handover-1$|^refused$|^election-deposed-1$"})
	require.NoError(t, err)
	o.window, o.warm = 50*time.Millisecond, 50*time.Millisecond
	run := new(result.Run)
	bench, err := assemble(t.Context(), o, t.TempDir(), run, func(string) {})
	require.NoError(t, err)
	defer bench.Close()

	plan := work.Plan{
		Works: o.chosen(), Rounds: 1, Warm: o.warm, Window: o.window, Smoke: true,
		Progress: func(text string, _ time.Duration) { t.Log(text) },
	}
	require.Len(t, plan.Works, 4)
	out := bench.Run(t.Context(), plan)
	require.Empty(t, out.Notes)
	require.NoError(t, complete(out))
	run.Figures = out.Figures
	for _, w := range plan.Works {
		figure, _ := run.Figure(w.ID + "/" + w.Shows[0].Number)
		for _, p := range w.Parties {
			if bench.Has(p) {
				row, measured := figure.Row(p.Name)
				require.True(t, measured, "%s by %s", w.ID, p.Name)
				require.Positive(t, row.Summary().Median, "%s by %s", w.ID, p.Name)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-works", "^uncontended-5ms$", "-servers", "3"})
	require.NoError(t, err)
	require.Len(t, o.chosen(), 1)
	require.Equal(t, 3, o.servers)

	o, err = parseFlags([]string{"-smoke"})
	require.NoError(t, err)
	require.Equal(t, 1, o.rounds)
	require.Len(t, o.chosen(), len(work.All()))

	_, err = parseFlags([]string{"-works", "("})
	require.Error(t, err)
}

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
