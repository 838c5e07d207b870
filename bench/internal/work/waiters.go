package work

import "context"

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
			if err := b.queue(ctx, p, path, waiting); err != nil {
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
