package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/zklock/zklock/bench/internal/result"
)

const (
	// queueSessions share the waiters of a queue, so that most hand-overs go
	// from one session to another. Only those are timed.
	queueSessions = 8

	// handOvers are timed in each round, with a short critical section between.
	handOvers = 50
	held      = time.Millisecond
)

// handOver is the time from a release to the grant in another session, with n
// waiting at first.
func handOver(n int) Work {
	parties := locks
	switch {
	case n == 1:
		parties = with(locks, watchEvent)
	case n > 1000: // which takes kazoo a minute to set up
		parties = []Party{zklock, goZK, curator}
	}
	return Work{
		ID:         fmt.Sprintf("handover-%d", n),
		Parties:    parties,
		Shows:      []Quantity{micros(fmt.Sprintf("Hand-over to another session, %d waiting", n))},
		Large:      n > 100,
		MostRounds: 5,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			if p == watchEvent {
				return b.do(ctx, p, direct, "event", path, map[string]string{"sessions": "2", "count": fmt.Sprint(handOvers)})
			}
			return lockQueue(n).drain(ctx, b, p, path)
		},
	}
}

// lineUp is a queue of waiters for what somebody holds.
type lineUp struct {
	word      string // has the worker make it
	sessions  int
	waiters   int
	drained   map[string]string // how, if not as usual
	observers int               // have a session each
}

func lockQueue(n int) lineUp {
	return lineUp{word: "queue", sessions: min(queueSessions, n+1), waiters: n}
}

// drain makes the queue, as often as it takes to time a few hand-overs, if there is
// time for that.
func (l lineUp) drain(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
	const few = 5
	var times []float64
	for start := time.Now(); len(times) == 0 || len(times) < few/l.waiters && time.Since(start) < few*b.window; {
		numbers, err := l.once(ctx, b, p, path)
		if err := errors.Join(err, b.disband(ctx, p)); err != nil {
			return nil, err
		}
		times = append(times, numbers["ns"])
	}
	return Numbers{"ns": result.Median(times)}, nil
}

// once makes the queue and times its hand-overs.
func (l lineUp) once(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
	if err := l.form(ctx, b, p, path); err != nil {
		return nil, err
	}
	if l.observers > 0 {
		_, err := b.do(ctx, p, direct, "observe", path, map[string]string{
			"sessions": fmt.Sprint(l.sessions + l.observers), "observers": fmt.Sprint(l.observers),
		})
		if err != nil {
			return nil, err
		}
	}
	fields := map[string]string{
		"count":   fmt.Sprint(min(l.waiters*3/4+1, handOvers)),
		"hold_us": fmt.Sprint(held.Microseconds()),
	}
	maps.Copy(fields, l.drained)
	return b.do(ctx, p, direct, "drain", path, fields)
}

// form has a party's worker hold what the waiters stand in its queue for.
func (l lineUp) form(ctx context.Context, b *Bench, p Party, path string) error {
	_, err := b.do(ctx, p, direct, l.word, path, map[string]string{
		"sessions": fmt.Sprint(l.sessions), "waiters": fmt.Sprint(l.waiters),
	})
	if err != nil {
		return err
	}
	return b.settle(ctx, 1+l.waiters, func() (contenders, watches int, err error) {
		if p.Process == etcd.Process { // each who waits there has a watch
			watches, err = b.Etcd.Watchers(ctx)
			return 1 + watches, watches, err
		}
		return b.queued(path)
	})
}

// waiting is how many waiters are weighed together.
const waiting = 1000

// waiters is what one who waits takes up, in the process and at the server.
func waiters() Work {
	return Work{
		ID:      "waiter",
		Parties: locks,
		Shows: []Quantity{
			{Number: "heap", Title: "Memory of a waiter, heap", Unit: "bytes", Per: waiting},
			{Number: "stacks", Title: "Memory of a waiter, stacks of its goroutines (Go)", Unit: "bytes", Per: waiting},
			{Number: "goroutines", Title: "Goroutines of a waiter, the one that waits included (Go)", Unit: "goroutines", Per: waiting},
			{Number: "watches", Title: "Watches of a waiter at the server", Unit: "watches", Per: waiting},
		},
		Large:      true,
		MostRounds: 3,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			// What other works have left in a Go process would count.
			if p != curator {
				if err := b.restart(ctx, p); err != nil {
					return nil, err
				}
			}
			before, err := b.ZooKeeper.Watches()
			if err != nil {
				return nil, err
			}
			if err := lockQueue(waiting).form(ctx, b, p, path); err != nil {
				return nil, err
			}
			after, err := b.ZooKeeper.Watches()
			if err != nil {
				return nil, err
			}
			numbers, err := b.weigh(ctx, p, path)
			if err != nil {
				return nil, err
			}
			numbers["watches"] = float64(after - before)
			return numbers, nil
		},
	}
}

// weigh asks the worker what its waiters take up, if it can tell.
func (b *Bench) weigh(ctx context.Context, p Party, path string) (Numbers, error) {
	if p == kazoo {
		return Numbers{}, nil
	}
	return b.do(ctx, p, direct, "weigh", path, nil)
}
