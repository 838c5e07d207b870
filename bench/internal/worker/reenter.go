package worker

import (
	"context"
	"fmt"

	"github.com/zklock/zklock/bench/internal/line"
)

// batch makes the loop around a few nanoseconds cost nothing.
const batch = 100_000

// reenter locks and unlocks what the goroutine holds already.
func (w *worker) reenter(ctx context.Context, m line.Message) (numbers, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	lock, err := clients[0].mutex(m.Fields["path"], m.Fields["variant"])
	if err != nil {
		return nil, err
	}
	owner, ok := lock.(reentrant)
	if !ok {
		return nil, fmt.Errorf("%T is not reentrant", lock)
	}
	l := newLoad(m)
	// The owner is the goroutine that locked, which has to be the one that
	// does the operation.
	l.operations = []operation{func() (int, error) {
		if err := lock.lock(); err != nil {
			return 0, err
		}
		for !l.stop.Load() {
			if err := owner.reenter(batch); err != nil {
				return 0, err
			}
			l.done.Add(batch)
		}
		return 0, lock.unlock()
	}}
	return w.profiled(m, l.measure)
}
