package worker

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/zklock/zklock/bench/internal/line"
)

// cycle locks and unlocks one path from some goroutines in each of some
// sessions.
func (w *worker) cycle(ctx context.Context, m line.Message) (numbers, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	l := newLoad(m)
	var inside atomic.Int32
	for i := range len(clients) * max(1, m.Int("workers")) {
		lock, err := clients[i%len(clients)].mutex(m.Fields["path"], m.Fields["variant"])
		if err != nil {
			return nil, err
		}
		l.operations = append(l.operations, func() (int, error) { return 1, exclusively(lock, &inside) })
	}
	return w.profiled(m, l.measure)
}

var errShared = errors.New("two held the lock at the same time")

// exclusively does one cycle. What is not a lock would be fast.
func exclusively(lock mutex, inside *atomic.Int32) error {
	if err := lock.lock(); err != nil {
		return err
	}
	if inside.Add(1) != 1 {
		return errShared
	}
	inside.Add(-1)
	return lock.unlock()
}
