package work

import "context"

// try takes a free lock by TryLock.
func try() Work {
	return Work{
		ID:      "try",
		Parties: triers,
		Shows:   []Quantity{micros("TryLock that succeeds, and unlock")},
		Measure: cycle{word: "try"}.measure,
	}
}

// refused tries for a lock that another session holds.
func refused() Work {
	return Work{
		ID:      "refused",
		Parties: triers,
		Shows:   []Quantity{micros("TryLock that fails")},
		Measure: attempt(direct),
	}
}

func attempt(w way) Measure {
	return func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
		// The one who holds the lock connects past any proxy.
		past := map[string]string{"holder": b.servers(p, direct)[0]}
		return cycle{word: "refused", way: w, more: past}.measure(ctx, b, p, path)
	}
}
