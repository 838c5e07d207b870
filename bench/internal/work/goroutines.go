package work

import (
	"fmt"
	"time"
)

// goroutines is one process, with one session, in which n goroutines or threads
// lock and unlock the same path.
func goroutines(n int) Work {
	c := cycle{workers: n}
	if n > 100 {
		c.warm = 2 * time.Second // until all stand in the queue
	}
	return Work{
		ID:      fmt.Sprintf("goroutines-%d", n),
		Parties: with(everybody, withHandoff),
		Shows:   []Quantity{micros(fmt.Sprintf("One process, %d goroutines or threads on one lock: time per cycle", n))},
		Measure: c.measure,
		Large:   n > 100,
	}
}
