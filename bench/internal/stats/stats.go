// Package stats sums up what several rounds of one measurement gave.
package stats

import (
	"cmp"
	"slices"
)

// Summary is a set of values in four numbers.
type Summary struct {
	Rounds   int
	Median   float64
	Min, Max float64
}

// Of returns the summary of values, the zero Summary if there are none.
func Of(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	return Summary{
		Rounds: len(values),
		Median: Median(values),
		Min:    slices.Min(values),
		Max:    slices.Max(values),
	}
}

// Median returns the middle of values, which may be of any ordered kind of
// number; of an even count the mean of the two in the middle.
func Median[N ~int64 | ~float64](values []N) N {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[N])
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
