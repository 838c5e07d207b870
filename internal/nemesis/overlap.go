package nemesis

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Violation says how a promise was broken.
type Violation string

// Overlaps checks that no lock was held beyond its size: neither by those who
// could believe in their hold, nor by those whose lost channel was open still.
func Overlaps(attempts []*Attempt) []Violation {
	var found []Violation
	for _, of := range byPath(attempts) {
		slices.SortFunc(of, func(a, b *Attempt) int { return cmp.Compare(a.Got, b.Got) })
		found = append(found, overlaps(of, (*Attempt).believed, "is valid")...)
		found = append(found, overlaps(of, (*Attempt).unaware, "is not told lost")...)
	}
	return found
}

// overlaps goes through attempts at one path by the time of their grants. Each grant
// must find room beside those that have not ended by then.
func overlaps(attempts []*Attempt, end func(*Attempt) Instant, state string) []Violation {
	var found []Violation
	var current []*Attempt
	for _, next := range attempts {
		if !next.granted() || end(next) == 0 {
			continue
		}
		current = slices.DeleteFunc(current, func(a *Attempt) bool { return end(a) <= next.Got })
		taken := next.Share.Parts
		for _, other := range current {
			taken += other.Share.Parts
		}
		if taken > next.Share.Of {
			longest := slices.MaxFunc(current, func(a, b *Attempt) int { return cmp.Compare(end(a), end(b)) })
			found = append(found, Violation(fmt.Sprintf("%v is granted, and %v later %v %s",
				next, end(longest).Sub(next.Got).Round(time.Microsecond), longest, state)))
		}
		current = append(current, next)
	}
	return found
}
