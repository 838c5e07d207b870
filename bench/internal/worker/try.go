package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/zklock/zklock/bench/internal/line"
)

// try is a cycle that begins with an attempt, which must succeed.
func (w *worker) try(ctx context.Context, m line.Message) (numbers, error) {
	lock, err := w.triable(ctx, m)
	if err != nil {
		return nil, err
	}
	l := newLoad(m)
	l.operations = []operation{func() (int, error) {
		got, err := lock.(trier).tryLock()
		if err == nil && !got {
			err = errors.New("a free lock was refused")
		}
		if err != nil {
			return 0, err
		}
		return 1, lock.unlock()
	}}
	return w.profiled(m, l.measure)
}

// refused tries for a lock that somebody else's session holds.
func (w *worker) refused(ctx context.Context, m line.Message) (numbers, error) {
	lock, err := w.triable(ctx, m)
	if err != nil {
		return nil, err
	}
	// The holder goes straight to the server, so that a counting proxy on the
	// way counts the attempts alone.
	holder, err := w.party.connect(ctx, m.Fields["holder"])
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
	l := newLoad(m)
	l.operations = []operation{func() (int, error) {
		got, err := lock.(trier).tryLock()
		if got {
			err = errShared
		}
		return 1, err
	}}
	result, err := w.profiled(m, l.measure)
	return result, errors.Join(err, held.unlock())
}

func (w *worker) triable(ctx context.Context, m line.Message) (mutex, error) {
	clients, err := w.sessions(ctx, m)
	if err != nil {
		return nil, err
	}
	lock, err := clients[0].mutex(m.Fields["path"], m.Fields["variant"])
	if err != nil {
		return nil, err
	}
	if _, ok := lock.(trier); !ok {
		return nil, fmt.Errorf("%T has no attempts", lock)
	}
	return lock, nil
}
