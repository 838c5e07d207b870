package main

import (
	"errors"
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
	o, err := parseFlags([]string{"-works", "^sessions-2-loopback$|^handover-1$|^refused$"})
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
	require.Len(t, plan.Works, 3)
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
