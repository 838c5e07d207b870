package nemesis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what a soak has shown.
type Report struct {
	Ops, Holds  int
	Handovers   int // holds of the whole lock that follow one of another process
	Shared      int // holds by the node of an earlier one, with WithHandoff or WithRetention
	Losses      int
	Updates     map[Outcome]int
	Faults      map[string]int
	Unavailable time.Duration // at most, from the end of a hold to the next one of any process
	Violations  []Violation
	Diverged    []Violation // of the servers, see Remains
}

func newReport(ops []*Op, updates []Update, faults []Injection) *Report {
	r := &Report{Ops: len(ops), Updates: make(map[Outcome]int), Faults: make(map[string]int)}
	var locks []*Op
	nodes := make(map[string]bool)
	for _, o := range ops {
		if !o.ok() {
			continue
		}
		r.Holds++
		if nodes[o.Node] {
			r.Shared++
		}
		nodes[o.Node] = true
		if o.Lost != 0 {
			r.Losses++
		}
		if o.Share == Exclusive && strings.HasSuffix(o.Path, "/"+lockName) {
			locks = append(locks, o)
		}
	}
	slices.SortFunc(locks, func(a, b *Op) int { return cmp.Compare(a.OK, b.OK) })
	for i := 1; i < len(locks); i++ {
		last, next := locks[i-1], locks[i]
		if last.Process != next.Process {
			r.Handovers++
		}
		r.Unavailable = max(r.Unavailable, next.OK.Sub(max(last.OK, last.Valid, last.Freed)))
	}
	for _, u := range updates {
		r.Updates[u.Outcome]++
	}
	for _, f := range faults {
		r.Faults[f.Fault]++
	}
	return r
}

func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ops, %d holds, %d by the node of an earlier one, %d hand-overs between processes, %d losses\n",
		r.Ops, r.Holds, r.Shared, r.Handovers, r.Losses)
	fmt.Fprintf(&b, "%d updates behind fences, %d refused, %d without an answer\n", r.Updates[Written], r.Updates[Refused], r.Updates[Unknown])
	fmt.Fprintf(&b, "longest time in which nobody had the lock: %v\n", r.Unavailable.Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(&b, "%4d  %s\n", r.Faults[what], what)
	}
	fmt.Fprintf(&b, "%d violations", len(r.Violations))
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "\n  %s", v)
	}
	for _, d := range r.Diverged {
		fmt.Fprintf(&b, "\n  not counted, since the leader does not have it: %s", d)
	}
	return b.String()
}
