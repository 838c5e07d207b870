package worker

import (
	"context"
	"errors"
	"runtime"

	"github.com/zklock/zklock/bench/internal/line"
)

// weight is what a process takes up.
type weight struct{ heap, stacks, goroutines float64 }

func weighProcess() weight {
	runtime.GC()
	runtime.GC() // what finalizers and pools kept
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return weight{
		heap:       float64(memory.HeapAlloc),
		stacks:     float64(memory.StackInuse),
		goroutines: float64(runtime.NumGoroutine()),
	}
}

// weigh returns what the waiters take up together, the goroutines that called
// lock included.
func (w *worker) weigh(_ context.Context, m line.Message) (numbers, error) {
	if w.queue == nil {
		return nil, errors.New("there is no queue")
	}
	now, before := weighProcess(), w.queue.empty
	if w.profiles != "" {
		if err := writeAllocations(w.profile(m)); err != nil {
			return nil, err
		}
	}
	return numbers{
		"heap":       now.heap - before.heap,
		"stacks":     now.stacks - before.stacks,
		"goroutines": now.goroutines - before.goroutines,
	}, nil
}
