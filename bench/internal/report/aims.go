package report

import (
	"fmt"

	"github.com/zklock/zklock/bench/internal/result"
)

// An aim is what the project wants of a row of a figure.
type aim struct {
	figure, party string
	kind          kind
	want          float64
	other         string // party or figure, as the kind says
}

type kind int

const (
	timesBestPeer kind = iota // the best ZooKeeper peer's median is want times the row's, or more
	atMost                    // the row's median is want or less
	lessThan                  // the row's median is less than the other party's
	growth                    // the row's median is at most want times that in the other figure
)

const (
	zklock        = "zklock"
	withHandoff   = "zklock, WithHandoff(64)"
	withRetention = "zklock, WithRetention"
)

var aims = []aim{
	{figure: "uncontended-5ms/ns", party: zklock, want: 2.5},
	{figure: "uncontended-loopback/ns", party: zklock, want: 1.3},
	{figure: "uncontended-loopback/ns", party: withRetention, want: 3000},
	{figure: "goroutines-64/ns", party: zklock, want: 6},
	{figure: "goroutines-64/ns", party: withHandoff, want: 150},
	{figure: "sessions-2-5ms/ns", party: zklock, want: 1.4},
	{figure: "sessions-8-5ms/ns", party: zklock, want: 1.4},
	{figure: "sessions-2-loopback/ns", party: zklock, want: 1},
	{figure: "sessions-8-loopback/ns", party: zklock, want: 1},
	{figure: "reentry/ns", party: zklock, kind: atMost, want: 6},
	{figure: "reentry/allocs", party: zklock, kind: atMost, want: 0},
	{figure: "handover-5000/ns", party: zklock, kind: growth, want: 1.1, other: "handover-100/ns"},
	{figure: "traffic-refused/writes", party: zklock, kind: atMost, want: 0},
	{figure: "traffic-contended/told", party: zklock, kind: atMost, want: 2},
	{figure: "waiter/goroutines", party: zklock, kind: atMost, want: 2},
	{figure: "waiter/heap", party: zklock, kind: atMost, want: 4096},
	{figure: "waiter/watches", party: zklock, kind: atMost, want: 3},
	{figure: "cold/round trips", party: zklock, kind: lessThan, other: "Curator"},
}

// tolerance is for medians that rounding keeps from a whole number.
const tolerance = 0.005

// verdict says whether an aim is reached.
type verdict struct {
	Title   string
	Party   string
	Aim     string
	Is      string
	Reached bool
}

// Result is the verdict's last word.
func (v verdict) Result() string {
	if v.Reached {
		return "reached"
	}
	return "missed"
}

// judge returns false if the run has not measured what the aim is about.
func (a aim) judge(run *result.Run) (verdict, bool) {
	f, _ := run.Figure(a.figure)
	row, ok := f.Row(a.party)
	if !ok {
		return verdict{}, false
	}
	is := row.Summary().Median
	v := verdict{Title: f.Title, Party: a.party}
	switch a.kind {
	case timesBestPeer:
		best, ok := f.BestPeer()
		if !ok {
			return verdict{}, false
		}
		ratio := best.Summary().Median / is
		v.Aim, v.Is = number(a.want)+" times the best peer", number(ratio)+" times "+best.Party
		v.Reached = ratio >= a.want
	case atMost:
		v.Aim, v.Is = "at most "+number(a.want)+" "+f.Unit, number(is)+" "+f.Unit
		v.Reached = is <= a.want+tolerance
	case lessThan:
		other, ok := f.Row(a.other)
		if !ok {
			return verdict{}, false
		}
		bar := other.Summary().Median
		v.Aim, v.Is = fmt.Sprintf("less than %s, %s", a.other, number(bar)), number(is)+" "+f.Unit
		v.Reached = is < bar
	case growth:
		from, _ := run.Figure(a.other)
		base, ok := from.Row(a.party)
		if !ok {
			return verdict{}, false
		}
		ratio := is / base.Summary().Median
		v.Aim, v.Is = "at most "+number(a.want)+" times: "+from.Title, number(ratio)+" times"
		v.Reached = ratio <= a.want
	}
	return v, true
}

func verdicts(run *result.Run) []verdict {
	var all []verdict
	for _, a := range aims {
		if v, ok := a.judge(run); ok {
			all = append(all, v)
		}
	}
	return all
}

// verdictOn returns what there is to say about a row.
func verdictOn(run *result.Run, figure, party string) (verdict, bool) {
	for _, a := range aims {
		if a.figure == figure && a.party == party {
			return a.judge(run)
		}
	}
	return verdict{}, false
}
