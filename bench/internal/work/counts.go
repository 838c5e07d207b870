package work

import (
	"context"
	"fmt"
)

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

// countedBy does a work whose way leads through the counting proxies, and
// returns what went through them for each operation.
func countedBy(measure Measure) Measure {
	return func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
		before := b.ZooKeeper.Traffic.Count()
		numbers, err := measure(ctx, b, p, path)
		if err != nil {
			return nil, err
		}
		c := b.ZooKeeper.Traffic.Count().Since(before, numbers["total"])
		return Numbers{"requests": c.Requests, "writes": c.Writes, "told": c.Told, "bytes": c.Bytes}, nil
	}
}

// traffic is what a work's operations send and are sent.
func traffic(id string, parties []Party, of string, measure Measure) Work {
	return Work{
		ID:      "traffic-" + id,
		Parties: parties,
		Shows: []Quantity{
			{Number: "requests", Title: "Requests of " + of, Unit: "requests", Per: 1},
			{Number: "writes", Title: "Writes of " + of, Unit: "writes", Per: 1},
			{Number: "told", Title: "Other clients told of " + of, Unit: "clients", Per: 1},
			{Number: "bytes", Title: "Bytes on the wire of " + of, Unit: "bytes", Per: 1},
		},
		Measure: countedBy(measure),
	}
}
