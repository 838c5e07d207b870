package work

import (
	"context"
	"fmt"

	"github.com/zklock/zklock/bench/internal/rig"
)

// cold locks paths that do not exist yet. With the round trip so much longer
// than anything else, the time counts the round trips.
func cold() Work {
	return Work{
		ID:      "cold",
		Parties: locks,
		Shows: []Quantity{{
			Number: "ns", Title: "First lock on a missing path, 5 ms round trip",
			Unit: "round trips", Per: float64(rig.RoundTrip),
		}},
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			b.serial++
			return b.do(ctx, p, delayed, "cold", fmt.Sprintf("%s-%d", path, b.serial), map[string]string{"count": "10"})
		},
	}
}
