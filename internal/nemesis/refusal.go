package nemesis

import "fmt"

// Unjustified finds the tries that were refused because the lock was taken,
// although nobody else wanted it at any instant of the call.
func Unjustified(attempts []*Attempt) []Violation {
	var found []Violation
	for _, of := range byPath(attempts) {
		for _, try := range of {
			if try.Held && !wanted(try, of) {
				found = append(found, Violation(fmt.Sprintf("%v was refused as taken, and nobody had it", try)))
			}
		}
	}
	return found
}

// wanted tells whether another attempt may have had a node while a try was under
// way.
func wanted(try *Attempt, all []*Attempt) bool {
	for _, other := range all {
		if other == try || other.Called > try.Denied {
			continue
		}
		if end := other.gone(); end == 0 || end >= try.Called {
			return true
		}
	}
	return false
}

// gone returns by when its node was surely deleted; 0 if that is not known: its
// owner was killed, has lost it, or gave up waiting for an answer.
func (a *Attempt) gone() Instant {
	switch {
	case a.Freed != 0:
		return a.Freed
	case a.Held:
		return a.Denied
	}
	return 0
}
