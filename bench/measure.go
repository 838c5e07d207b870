package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

	progress := report.NewProgress(os.Stderr)
	bench, err := assemble(ctx, o, dir, run, progress.Show)
	if err != nil {
		return err
	}
	defer bench.Close()
	skipped := run.Notes
	keep := func(out work.Outcome) error {
		run.Figures, run.Notes = out.Figures, append(skipped[:len(skipped):len(skipped)], out.Notes...)
		run.Took = time.Since(start).Truncate(time.Second)
		return write(o.results, run)
	}
	out := bench.Run(ctx, work.Plan{
		Works: o.chosen(), Rounds: o.rounds, Warm: o.warm, Window: o.window, Limit: o.limit, Smoke: o.smoke,
		Progress: progress.Left,
		Keep:     func(out work.Outcome) { _ = keep(out) }, // the last time tells
	})
	progress.End()
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
func write(dir string, run *result.Run) error {
	if dir == "" {
		return nil
	}
	return errors.Join(report.Page(dir, run), run.Save(filepath.Join(dir, dataFile)))
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
	run, err := result.Load(filepath.Join(o.results, dataFile))
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	report.Table(os.Stdout, run)
	return report.Page(o.results, run)
}

// thisMachine describes what the run is made on, as far as it can be known.
func thisMachine() result.Machine {
	m := result.Machine{
		CPU:   valueIn("/proc/cpuinfo", "model name", ":"),
		Cores: runtime.NumCPU(),
		OS:    strings.Trim(valueIn("/etc/os-release", "PRETTY_NAME", "="), `"`),
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(load), &m.Load) // stays 0
	}
	return m
}

// valueIn returns what the first line that starts with key says in a file.
func valueIn(file, key, separator string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if before, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(before) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// commit is what was measured: the checkout's commit, with a mark if that is
// not all.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
