package work

import "context"

// uncontended is one goroutine that locks and unlocks, beside the same requests
// without a lock.
func uncontended(w way) Work {
	const what = "an uncontended lock and unlock"
	shows := []Quantity{micros("Uncontended lock and unlock, " + w.String())}
	switch w {
	case direct:
		shows = append(shows, clientCPU(what),
			Quantity{Number: "allocs", Title: "Allocations of " + what + " (Go)", Unit: "objects", Per: 1},
			Quantity{Number: "alloc_bytes", Title: "Memory allocated by " + what + " (Go)", Unit: "bytes", Per: 1})
	case delayed:
		shows = append(shows, inRoundTrips("Round trips in a row of "+what))
	}
	return Work{
		ID:      "uncontended-" + w.id(),
		Parties: with(everybody, withoutOwner, withRetention, createPair, pipelined),
		Shows:   shows,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			c := cycle{way: w}
			if p == pipelined {
				c.word = "pipeline"
			}
			if w == delayed {
				return countRoundTrips(c.measure)(ctx, b, p, path)
			}
			return c.measure(ctx, b, p, path)
		},
	}
}
