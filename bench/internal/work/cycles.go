package work

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"
)

// way is how a party reaches its servers.
type way int

const (
	direct way = iota
	delayed
	counted
)

func (w way) id() string { return [...]string{"loopback", "5ms", "counted"}[w] }

func (w way) String() string {
	return [...]string{"loopback", "5 ms round trip", "through a counting proxy"}[w]
}

// cycle is what most works are: a number of sessions, and goroutines or threads
// in each, that lock and unlock.
type cycle struct {
	word              string // "cycle" if empty
	sessions, workers int
	way               way
	warm              time.Duration // the bench's, if zero
	more              map[string]string
}

func (c cycle) measure(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
	warm := cmp.Or(c.warm, b.warm)
	fields := map[string]string{
		"sessions": fmt.Sprint(max(1, c.sessions)),
		"workers":  fmt.Sprint(max(1, c.workers)),
		"warm_ms":  fmt.Sprint(warm.Milliseconds()),
		"run_ms":   fmt.Sprint(b.window.Milliseconds()),
	}
	maps.Copy(fields, c.more)
	return b.do(ctx, p, c.way, cmp.Or(c.word, "cycle"), path, fields)
}

// uncontended is one goroutine that locks and unlocks, beside the same requests
// without a lock.
func uncontended(w way) Work {
	const what = "an uncontended lock and unlock"
	shows := []Quantity{micros("Uncontended lock and unlock, " + w.String())}
	switch w {
	case direct:
		shows = append(shows, clientCPU(what),
			Quantity{Number: "allocs", Title: "Allocations of " + what + " (Go)", Unit: "objects", Per: 1},
			Quantity{Number: "alloc_bytes", Title: "Memory allocated by " + what + " (Go)", Unit: "bytes", Per: 1})
	case delayed:
		shows = append(shows, inRoundTrips("Round trips in a row of "+what))
	}
	return Work{
		ID:      "uncontended-" + w.id(),
		Parties: with(everybody, withoutOwner, withRetention, createPair, pipelined),
		Shows:   shows,
		Measure: func(ctx context.Context, b *Bench, p Party, path string) (Numbers, error) {
			c := cycle{way: w}
			if p == pipelined {
				c.word = "pipeline"
			}
			if w == delayed {
				return countRoundTrips(c.measure)(ctx, b, p, path)
			}
			return c.measure(ctx, b, p, path)
		},
	}
}

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

// reentry locks and unlocks what its goroutine holds.
func reentry() Work {
	return Work{
		ID:      "reentry",
		Parties: []Party{zklock, curator},
		Shows: []Quantity{
			{Number: "ns", Title: "Re-entry: lock and unlock what is held already", Unit: "ns", Per: 1},
			{Number: "allocs", Title: "Allocations of a re-entry (Go)", Unit: "objects", Per: 1},
		},
		Measure: cycle{word: "reenter"}.measure,
	}
}

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

// readMostly is a mix of readers and few writers. kazoo 2.8 has no part in it:
// its ReadLock waits for the last writer in the queue, also for one behind it
// that waits for the reader.
func readMostly() Work {
	return Work{
		ID:      "readmostly",
		Parties: []Party{zklock, curator},
		Shows:   []Quantity{micros("Read/write lock, 4 sessions of 4, 5 in 100 write: time per cycle")},
		Measure: cycle{word: "rw", sessions: 4, workers: 4, more: map[string]string{"writes": "5"}}.measure,
	}
}
