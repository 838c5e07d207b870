package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock/bench/internal/line"
)

// An operation is done over and over by one goroutine. It returns how many
// times it did what is measured.
type operation func() (int, error)

// A slow party gets more time than asked for, until it has done enough to be
// measured at all.
const (
	enough       = 10
	patience     = 30 * time.Second
	pollInterval = 5 * time.Millisecond
)

// load runs operations at the same time, each in a goroutine, and measures
// them in a window that opens when all are at work.
type load struct {
	operations []operation
	warm, run  time.Duration
	done       atomic.Int64
	stop       atomic.Bool
}

// measure has some goroutines in each of some sessions do what prepare returns, and
// profiles them meanwhile if the worker was asked to.
func (w *worker) measure(clients []client, m line.Message, prepare func(l *load, c client, i int) (operation, error)) (numbers, error) {
	l := &load{
		warm: time.Duration(m.Int("warm_ms")) * time.Millisecond,
		run:  time.Duration(m.Int("run_ms")) * time.Millisecond,
	}
	for i := range len(clients) * max(1, m.Int("workers")) {
		do, err := prepare(l, clients[i%len(clients)], i)
		if err != nil {
			return nil, err
		}
		l.operations = append(l.operations, do)
	}
	if w.profiles != "" {
		return profiled(w.profile(m), l.measure)
	}
	return l.measure()
}

// measure returns the time of one operation, and what it cost the process.
func (l *load) measure() (numbers, error) {
	workers, ctx := errgroup.WithContext(context.Background())
	for _, do := range l.operations {
		workers.Go(func() error {
			for !l.stop.Load() {
				n, err := do()
				if err != nil {
					return err
				}
				l.done.Add(int64(n))
			}
			return nil
		})
	}
	sleep(ctx, l.warm)
	before := l.reading()
	sleep(ctx, l.run)
	for l.done.Load()-before.done < enough && time.Since(before.at) < patience && ctx.Err() == nil {
		sleep(ctx, pollInterval)
	}
	after := l.reading()
	l.stop.Store(true)
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	if after.done == before.done {
		return nil, fmt.Errorf("nothing done in %v", after.at.Sub(before.at))
	}
	result := after.since(before)
	result["total"] = float64(l.done.Load())
	return result, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// reading is the state of the meters at one moment.
type reading struct {
	at     time.Time
	done   int64
	cpu    time.Duration
	memory runtime.MemStats
}

func (l *load) reading() reading {
	r := reading{cpu: processorTime()}
	runtime.ReadMemStats(&r.memory)
	r.done, r.at = l.done.Load(), time.Now()
	return r
}

// since returns what went by per operation.
func (r reading) since(before reading) numbers {
	n := float64(r.done - before.done)
	return numbers{
		"ns":          float64(r.at.Sub(before.at)) / n,
		"cpu_ns":      float64(r.cpu-before.cpu) / n,
		"allocs":      float64(r.memory.Mallocs-before.memory.Mallocs) / n,
		"alloc_bytes": float64(r.memory.TotalAlloc-before.memory.TotalAlloc) / n,
	}
}

// processorTime is what the process has used so far, in user mode and in the
// kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// profiled writes the profiles of the processor and of the allocations while it
// measures.
func profiled(name string, measure func() (numbers, error)) (numbers, error) {
	cpu, err := os.Create(name + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	result, err := measure()
	pprof.StopCPUProfile()
	return result, errors.Join(err, writeAllocations(name))
}

// profile is how the names of a work's profiles begin.
func (w *worker) profile(m line.Message) string {
	return filepath.Join(w.profiles, m.Fields["work"])
}

// writeAllocations writes what was allocated so far, and what of it is in use.
func writeAllocations(name string) error {
	file, err := os.Create(name + ".allocs.pprof")
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}
