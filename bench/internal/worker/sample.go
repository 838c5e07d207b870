package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/zklock/zklock/bench/internal/line"
	"github.com/zklock/zklock/bench/internal/stats"
)

// sampled returns the median time of what is timed one by one, because
// something that does not count lies between.
func sampled(n int, timed func(i int) (time.Duration, error)) (numbers, error) {
	times := make([]time.Duration, n)
	for i := range times {
		var err error
		if times[i], err = timed(i); err != nil {
			return nil, err
		}
	}
	return numbers{"ns": float64(stats.Median(times)), "total": float64(n)}, nil
}

// cold times the first lock on a path of which only the parent exists.
func (w *worker) cold(ctx context.Context, m line.Message) (numbers, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	return sampled(m.Int("count"), func(i int) (time.Duration, error) {
		lock, err := clients[0].mutex(fmt.Sprintf("%s-%d", m.Fields["path"], i), m.Fields["variant"])
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if err := lock.lock(); err != nil {
			return 0, err
		}
		took := time.Since(start)
		return took, lock.unlock()
	})
}
