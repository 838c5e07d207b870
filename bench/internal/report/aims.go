package report

import (
	"fmt"
	"math"

	"github.com/zklock/zklock/bench/internal/result"
)

// An aim is what the project wants of a row of a figure.
type aim struct {
	what          string
	figure, party string
	kind          kind
	want          float64
	other         string // party or figure, as the kind says
}

type kind int

const (
	timesBestPeer kind = iota // the best ZooKeeper peer's median is want times the row's, or more
	atMost                    // the row's median is want or less
	whole                     // the row's median is want or less, to the nearest whole number
	lessThan                  // the row's median is less than the other party's
	growth                    // the row's median is at most want times that in the other figure
)

const (
	zklock        = "zklock"
	withHandoff   = "zklock, WithHandoff(64)"
	withRetention = "zklock, WithRetention"
)

var aims = []aim{
	{what: "uncontended cycle, 5 ms round trip", figure: "uncontended-5ms/ns", party: zklock, want: 2.5},
	{what: "its critical path, in round trips", figure: "uncontended-5ms/round trips", party: zklock, kind: whole, want: 1},
	{what: "uncontended cycle, loopback", figure: "uncontended-loopback/ns", party: zklock, want: 1.3},
	{what: "64 goroutines, one lock, FIFO", figure: "goroutines-64/ns", party: zklock, want: 6},
	{what: "64 goroutines, one lock, FIFO, as deletes go out together", figure: "goroutines-64/ns", party: zklock, want: 8},
	{what: "64 goroutines, `WithHandoff(64)`", figure: "goroutines-64/ns", party: withHandoff, want: 150},
	{what: "2 sessions contend, 5 ms round trip", figure: "sessions-2-5ms/ns", party: zklock, want: 1.4},
	{what: "8 sessions contend, 5 ms round trip", figure: "sessions-8-5ms/ns", party: zklock, want: 1.4},
	{what: "2 sessions contend, loopback", figure: "sessions-2-loopback/ns", party: zklock, want: 1},
	{what: "8 sessions contend, loopback", figure: "sessions-8-loopback/ns", party: zklock, want: 1},
	{what: "lock again under `WithRetention`", figure: "uncontended-loopback/ns", party: withRetention, want: 3000},
	{what: "re-entry pair, nanoseconds", figure: "reentry/ns", party: zklock, kind: atMost, want: 6},
	{what: "re-entry pair, allocations", figure: "reentry/allocs", party: zklock, kind: atMost, want: 0},
	{what: "hand-over with 5000 waiting, beside 100", figure: "handover-5000/ns", party: zklock, kind: growth, want: 1.1, other: "handover-100/ns"},
	{what: "failing TryLock, writes at the server", figure: "traffic-refused/writes", party: zklock, kind: atMost, want: 0},
	{what: "waiter, goroutines", figure: "waiter/goroutines", party: zklock, kind: atMost, want: 2},
	{what: "waiter, bytes of heap", figure: "waiter/heap", party: zklock, kind: atMost, want: 4096},
	{what: "waiter, watches", figure: "waiter/watches", party: zklock, kind: atMost, want: 3},
	{what: "clients told of a release", figure: "traffic-contended/told", party: zklock, kind: atMost, want: 2},
	{what: "a leader resigns, 1 waiting", figure: "election-resigned-1/ns", party: zklock, want: 1.3},
	{what: "a leader resigns, 100 waiting", figure: "election-resigned-100/ns", party: zklock, want: 1.3},
	{what: "a leader's node is deleted, 1 waiting", figure: "election-deposed-1/ns", party: zklock, want: 1.3},
	{what: "a leader's node is deleted, 100 waiting", figure: "election-deposed-100/ns", party: zklock, want: 1.3},
	{what: "200 observers hear of the next leader", figure: "election-observed-200/ns", party: zklock, want: 1.3},
	{what: "cold start on a missing path", figure: "cold/round trips", party: zklock, kind: lessThan, other: "Curator"},
}

// tolerance is for medians that rounding keeps from a whole number.
const tolerance = 0.005

// verdict says whether an aim is reached.
type verdict struct {
	What, Aim string
	Is        string // empty if the run has not measured it
	Reached   bool
}

// Result is the verdict in words.
func (v verdict) Result() string {
	switch {
	case v.Is == "":
		return "not measured"
	case v.Reached:
		return "reached: " + v.Is
	}
	return "not reached: " + v.Is
}

func (a aim) judge(run *result.Run) verdict {
	v := verdict{What: a.what, Aim: a.text()}
	f, _ := run.Figure(a.figure)
	row, ok := f.Row(a.party)
	if !ok {
		return v
	}
	is := row.Summary().Median
	switch a.kind {
	case timesBestPeer:
		best, ok := f.BestPeer()
		if !ok {
			return v
		}
		ratio := best.Summary().Median / is
		v.Is, v.Reached = number(ratio)+" times "+best.Party, ratio >= a.want
	case atMost:
		v.Is, v.Reached = number(is)+" "+f.Unit, is <= a.want+tolerance
	case whole:
		v.Is, v.Reached = number(is)+" "+f.Unit, math.Round(is) <= a.want
	case lessThan:
		other, ok := f.Row(a.other)
		if !ok {
			return v
		}
		bar := other.Summary().Median
		v.Is, v.Reached = fmt.Sprintf("%s, %s: %s", number(is), a.other, number(bar)), is < bar
	case growth:
		from, _ := run.Figure(a.other)
		base, ok := from.Row(a.party)
		if !ok {
			return v
		}
		ratio := is / base.Summary().Median
		v.Is, v.Reached = number(ratio)+" times", ratio <= a.want
	}
	return v
}

// text is what is wanted in words.
func (a aim) text() string {
	switch a.kind {
	case timesBestPeer:
		return number(a.want) + " times the best peer"
	case lessThan:
		return "less than " + a.other
	case growth:
		return "at most " + number(a.want) + " times"
	}
	return "at most " + number(a.want)
}

func verdicts(run *result.Run) []verdict {
	var all []verdict
	for _, a := range aims {
		all = append(all, a.judge(run))
	}
	return all
}

// verdictsOn returns what there is to say about a row.
func verdictsOn(run *result.Run, figure, party string) []verdict {
	var some []verdict
	for _, a := range aims {
		if a.figure == figure && a.party == party {
			some = append(some, a.judge(run))
		}
	}
	return some
}
