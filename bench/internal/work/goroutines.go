package work

import (
	"fmt"
	"time"
)

// goroutines is one process, with one session, in which n goroutines or threads
// lock and unlock the same path.
func goroutines(n int) Work {
	c, rounds := cycle{workers: n}, 0
	if n > 100 {
		c.warm, rounds = 2*time.Second, 3 // until all stand in the queue
	}
	return Work{
		ID:      fmt.Sprintf("goroutines-%d", n),
		Parties: with(everybody, withoutOwner, withHandoff),
		Shows: []Quantity{
			micros(fmt.Sprintf("One process, %d goroutines or threads on one lock: time per cycle", n)),
			clientCPU(fmt.Sprintf("a cycle, %d goroutines or threads on one lock", n)),
		},
		Measure: c.measure,
		Large:   n > 100, MostRounds: rounds,
	}
}
