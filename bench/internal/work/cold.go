package work

import (
	"context"
	"fmt"
)

// cold locks paths that do not exist yet.
func cold() Work {
	return Work{
		ID:      "cold",
		Parties: locks,
		Shows:   []Quantity{inRoundTrips("First lock on a missing path, in round trips")},
		Measure: countRoundTrips(func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			b.serial++
			fresh := fmt.Sprintf("%s-%d", path, b.serial)
			return b.do(ctx, p, delayed, "cold", fresh, map[string]string{"count": "10"})
		}),
	}
}
