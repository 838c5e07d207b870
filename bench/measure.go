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
	start := time.Now()
	run := &result.Run{
		Date: start.UTC().Truncate(time.Second), Commit: commit(ctx), Machine: thisMachine(),
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
		return err
	}
	defer bench.Close()
	skipped := run.Notes
	keep := func(out work.Outcome) error {
		run.Figures, run.Notes = out.Figures, append(skipped[:len(skipped):len(skipped)], out.Notes...)
		run.Took = time.Since(start).Truncate(time.Second)
		return write(o.docs, run)
	}
	out := bench.Run(ctx, work.Plan{
		Works: o.chosen(), Rounds: o.rounds, Warm: o.warm, Window: o.window, Limit: o.limit, Smoke: o.smoke,
		Progress: progress.left,
		Keep:     func(out work.Outcome) { _ = keep(out) }, // the last time tells
	})
	progress.end()
	err = keep(out)
	report.Table(os.Stdout, run)
	switch {
	case ctx.Err() != nil:
		err = errors.Join(err, errors.New("interrupted"))
	case o.smoke:
		err = errors.Join(err, complete(out))
	}
	return err
}

// write writes the page and what it is made from, if it is wanted.
func write(docs string, run *result.Run) error {
	if docs == "" {
		return nil
	}
	return errors.Join(report.Page(docs, run), run.Save(filepath.Join(docs, dataFile)))
}

// complete returns an error unless every work was done by all who should.
func complete(out work.Outcome) error {
	var errs []error
	for _, note := range out.Notes {
		errs = append(errs, errors.New(note))
	}
	for _, f := range out.Figures {
		if len(f.Rows) == 0 {
			errs = append(errs, fmt.Errorf("%s was not measured", f.ID))
		}
	}
	return errors.Join(errs...)
}

func render(o options) error {
	run, err := result.Load(filepath.Join(o.docs, dataFile))
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	report.Table(os.Stdout, run)
	return report.Page(o.docs, run)
}
