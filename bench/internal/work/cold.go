package work

import (
	"context"
	"fmt"
)

// cold locks paths that do not exist yet. The injected round trip is so much
// longer than anything else that the time counts the round trips.
func cold() Work {
	return Work{
		ID:      "cold",
		Parties: locks,
		Shows: []Quantity{{
			Number: "round trips", Title: "First lock on a missing path, 5 ms round trip", Unit: "round trips", Per: 1,
		}},
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			before, err := b.roundTrip()
			if err != nil {
				return nil, err
			}
			b.serial++
			fresh := fmt.Sprintf("%s-%d", path, b.serial)
			numbers, err := b.do(ctx, p, delayed, "cold", fresh, map[string]string{"count": "10"})
			if err != nil {
				return nil, err
			}
			after, err := b.roundTrip()
			return Numbers{"round trips": numbers["ns"] / float64((before+after)/2)}, err
		},
	}
}
