package work

import "context"

// uncontended is one goroutine that locks and unlocks, beside the same requests
// without a lock.
func uncontended(w way) Work {
	shows := []Quantity{micros("Uncontended lock and unlock, " + w.String())}
	if w == direct {
		shows = append(shows,
			Quantity{Number: "cpu_ns", Title: "Client CPU of an uncontended lock and unlock", Unit: "µs", Per: 1e3},
			Quantity{Number: "allocs", Title: "Allocations of an uncontended lock and unlock (Go)", Unit: "objects", Per: 1},
			Quantity{Number: "alloc_bytes", Title: "Memory allocated by an uncontended lock and unlock (Go)", Unit: "bytes", Per: 1})
	}
	return Work{
		ID:      "uncontended-" + w.id(),
		Parties: with(everybody, withRetention, createPair, pipelined),
		Shows:   shows,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			c := cycle{way: w}
			if p == pipelined {
				c.word = "pipeline"
			}
			return c.measure(ctx, b, p, path)
		},
	}
}
