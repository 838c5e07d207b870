package worker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock/bench/internal/line"
	"github.com/zklock/zklock/bench/internal/result"
)

// own returns the lock that a client is to measure.
func own(c client, m line.Message) (mutex, error) {
	return c.mutex(m.Fields["path"], m.Fields["variant"])
}

// cycle locks and unlocks one path from some goroutines in each of some
// sessions.
func (w *worker) cycle(clients []client, m line.Message) (numbers, error) {
	var inside atomic.Int32
	return w.measure(clients, m, func(_ *load, c client, _ int) (operation, error) {
		lock, err := own(c, m)
		return func() (int, error) { return 1, exclusively(lock, &inside) }, err
	})
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

// try is a cycle that begins with an attempt, which must succeed.
func (w *worker) try(clients []client, m line.Message) (numbers, error) {
	return w.measure(clients, m, func(_ *load, c client, _ int) (operation, error) {
		lock, err := triable(c, m)
		return func() (int, error) {
			got, err := lock.tryLock()
			if err == nil && !got {
				err = errors.New("a free lock was refused")
			}
			if err != nil {
				return 0, err
			}
			return 1, lock.unlock()
		}, err
	})
}

// refused tries for a lock that somebody else's session holds.
func (w *worker) refused(clients []client, m line.Message) (numbers, error) {
	// The holder goes straight to the server, so that a counting proxy on the
	// way counts the attempts alone.
	holder, err := w.party.connect(m.Fields["holder"])
	if err != nil {
		return nil, err
	}
	defer holder.close()
	held, err := holder.mutex(m.Fields["path"], "")
	if err != nil {
		return nil, err
	}
	if err := held.lock(); err != nil {
		return nil, err
	}
	result, err := w.measure(clients, m, func(_ *load, c client, _ int) (operation, error) {
		lock, err := triable(c, m)
		return func() (int, error) {
			got, err := lock.tryLock()
			if got {
				err = errShared
			}
			return 1, err
		}, err
	})
	return result, errors.Join(err, held.unlock())
}

func triable(c client, m line.Message) (mutex, error) {
	lock, err := own(c, m)
	if err == nil && lock.tryLock == nil {
		err = fmt.Errorf("%T has no attempts", c)
	}
	return lock, err
}

// batch makes the loop around a few nanoseconds cost nothing.
const batch = 100_000

// reenter locks and unlocks what the goroutine holds already.
func (w *worker) reenter(clients []client, m line.Message) (numbers, error) {
	return w.measure(clients, m, func(l *load, c client, _ int) (operation, error) {
		lock, err := own(c, m)
		if err == nil && lock.reenter == nil {
			err = fmt.Errorf("%T is not reentrant", c)
		}
		// The owner is the goroutine that locked, which has to be the one that
		// does the operation.
		return func() (int, error) {
			if err := lock.lock(); err != nil {
				return 0, err
			}
			for !l.stop.Load() {
				if err := lock.reenter(batch); err != nil {
					return 0, err
				}
				l.done.Add(batch)
			}
			return 0, lock.unlock()
		}, err
	})
}

// readWrite is a mix of readers and, in so many of a hundred, writers.
func (w *worker) readWrite(clients []client, m line.Message) (numbers, error) {
	writes := m.Int("writes")
	return w.measure(clients, m, func(_ *load, c client, i int) (operation, error) {
		rw, ok := c.(readWriter)
		if !ok {
			return nil, fmt.Errorf("%T has no read/write lock", c)
		}
		read, write, err := rw.readWrite(m.Fields["path"])
		dice := rand.New(rand.NewPCG(1, uint64(i)))
		return func() (int, error) {
			lock := read
			if dice.IntN(100) < writes {
				lock = write
			}
			if err := lock.lock(); err != nil {
				return 0, err
			}
			return 1, lock.unlock()
		}, err
	})
}

// cold times the first lock on a path of which only the parent exists.
func (w *worker) cold(clients []client, m line.Message) (numbers, error) {
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
	return numbers{"ns": float64(result.Median(times)), "total": float64(n)}, nil
}
