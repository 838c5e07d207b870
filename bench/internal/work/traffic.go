package work

import "context"

func traffic(of string) []Quantity {
	return []Quantity{
		{Number: "requests", Title: "Requests of " + of, Unit: "requests", Per: 1},
		{Number: "writes", Title: "Writes of " + of, Unit: "writes", Per: 1},
		{Number: "told", Title: "Other clients told of " + of, Unit: "clients", Per: 1},
		{Number: "bytes", Title: "Bytes on the wire of " + of, Unit: "bytes", Per: 1},
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

func uncontendedTraffic() Work {
	return Work{
		ID:      "traffic-uncontended",
		Parties: locks,
		Shows:   traffic("an uncontended lock and unlock"),
		Measure: countedBy(cycle{way: counted}.measure),
	}
}

func contendedTraffic() Work {
	return Work{
		ID:      "traffic-contended",
		Parties: locks,
		Shows:   traffic("a lock and unlock, 8 sessions contending"),
		Measure: countedBy(cycle{way: counted, sessions: 8}.measure),
	}
}

func refusedTraffic() Work {
	return Work{
		ID:      "traffic-refused",
		Parties: []Party{zklock, curator, kazoo},
		Shows:   traffic("a TryLock that fails"),
		Measure: countedBy(attempt(counted)),
	}
}
