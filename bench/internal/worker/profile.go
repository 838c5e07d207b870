package worker

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/zklock/zklock/bench/internal/line"
)

// profiled measures, and writes the profiles of the processor and of the
// allocations meanwhile if the worker was asked to.
func (w *worker) profiled(m line.Message, measure func() (numbers, error)) (numbers, error) {
	if w.profiles == "" {
		return measure()
	}
	name := w.profile(m)
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
