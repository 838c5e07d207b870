package worker

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/zklock/zklock/bench/internal/line"
)

// readWrite is a mix of readers and, in so many of a hundred, writers.
func (w *worker) readWrite(ctx context.Context, m line.Message) (numbers, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	l := newLoad(m)
	for i := range len(clients) * max(1, m.Int("workers")) {
		c, ok := clients[i%len(clients)].(readWriter)
		if !ok {
			return nil, fmt.Errorf("%T has no read/write lock", clients[0])
		}
		read, write, err := c.readWrite(m.Fields["path"])
		if err != nil {
			return nil, err
		}
		dice := rand.New(rand.NewPCG(1, uint64(i)))
		l.operations = append(l.operations, func() (int, error) {
			lock := read
			if dice.IntN(100) < m.Int("writes") {
				lock = write
			}
			if err := lock.lock(); err != nil {
				return 0, err
			}
			return 1, lock.unlock()
		})
	}
	return w.profiled(m, l.measure)
}
