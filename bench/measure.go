package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zklock/zklock/bench/internal/report"
	"github.com/zklock/zklock/bench/internal/result"
	"github.com/zklock/zklock/bench/internal/work"
)

// dataFile keeps what the page is made from, in the directory of its plots.
const dataFile = "benchmarks/run.json"

func measure(ctx context.Context, o options) error {
	run := &result.Run{
		Date: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx), Machine: thisMachine(),
		Rounds: o.rounds, Window: o.window, Servers: o.servers,
	}
	dir, err := os.MkdirTemp("", "zklock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	progress := newProgress(os.Stderr)
	bench, err := assemble(ctx, o, dir, run, progress.show)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer bench.Close()
	plan := work.Plan{Works: o.chosen(), Rounds: o.rounds, Cold: o.smoke, Progress: progress.show}
	figures, notes, err := bench.Run(ctx, plan)
	progress.end()
	if err != nil {
		return interrupted(ctx, err)
	}
	run.Figures, run.Notes = figures, append(run.Notes, notes...)
	report.Table(os.Stdout, run)
	if o.docs == "" {
		return nil
	}
	return errors.Join(run.Save(filepath.Join(o.docs, dataFile)), report.Page(o.docs, run))
}

func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

func render(o options) error {
	run, err := result.Load(filepath.Join(o.docs, dataFile))
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	report.Table(os.Stdout, run)
	return report.Page(o.docs, run)
}
