package work

import "context"

func inRoundTrips(title string) Quantity {
	return Quantity{Number: "round trips", Title: title, Unit: "round trips of 5 ms", Per: 1}
}

// countRoundTrips does a work whose way leads through the delay. The injected
// round trip is so much longer than anything else that the time of an operation
// counts those that it takes one after the other.
func countRoundTrips(measure Measure) Measure {
	return func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
		before, err := b.roundTrip()
		if err != nil {
			return nil, err
		}
		numbers, err := measure(ctx, b, p, path)
		if err != nil {
			return nil, err
		}
		after, err := b.roundTrip()
		numbers["round trips"] = numbers["ns"] / float64((before+after)/2)
		return numbers, err
	}
}
