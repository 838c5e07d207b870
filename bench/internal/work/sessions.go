package work

import "fmt"

// sessions is n sessions, each with one goroutine or thread, that lock and
// unlock the same path.
func sessions(n int, w way) Work {
	shows := []Quantity{micros(fmt.Sprintf("%d sessions on one lock, %s: time per cycle", n, w))}
	if w == direct {
		shows = append(shows, clientCPU(fmt.Sprintf("a cycle, %d sessions on one lock, %s", n, w)))
	}
	return Work{
		ID:      fmt.Sprintf("sessions-%d-%s", n, w.id()),
		Parties: everybody,
		Shows:   shows,
		Measure: cycle{sessions: n, way: w}.measure,
		Large:   n > 10,
	}
}
