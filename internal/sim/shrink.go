package sim

import (
	"slices"
	"testing"
)

// Shrink looks for a smaller program that breaks a promise too, by leaving parts
// of p out for as long as that goes well, and returns the last failure. Since
// goroutines run in any order, each attempt is made a few times.
func Shrink(t *testing.T, p *Program, failure *Failure) *Failure {
	const attempts = 3
	fails := func(smaller *Program) bool {
		for range attempts {
			if f := Run(t, smaller, new(Stats)); f != nil {
				failure = f
				return true
			}
		}
		return false
	}
	for again := true; again; {
		again = false
		for _, part := range parts {
			for i := 0; i < part.count(p); {
				smaller := part.without(p, i)
				if fails(smaller) {
					p, again = smaller, true
				} else {
					i++
				}
			}
		}
	}
	return failure
}

// parts are what can be left out of a program, the coarse ones first.
var parts = []struct {
	count   func(p *Program) int
	without func(p *Program, i int) *Program
}{
	{
		func(p *Program) int { return len(p.Actors) },
		func(p *Program, i int) *Program { q := *p; q.Actors = omit(p.Actors, i); return &q },
	},
	{
		func(p *Program) int { return len(p.Foreigners) },
		func(p *Program, i int) *Program { q := *p; q.Foreigners = omit(p.Foreigners, i); return &q },
	},
	{
		func(p *Program) int { return len(p.Faults) },
		func(p *Program, i int) *Program { q := *p; q.Faults = omit(p.Faults, i); return &q },
	},
	{countSections, withoutSection},
}

func omit[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

func countSections(p *Program) int {
	n := 0
	for _, a := range p.Actors {
		n += len(a.Sections)
	}
	return n
}

// withoutSection leaves out section i, counted over all actors, and with it the
// ones inside.
func withoutSection(p *Program, i int) *Program {
	q := *p
	q.Actors = slices.Clone(p.Actors)
	for n := range q.Actors {
		a := &q.Actors[n]
		if i < len(a.Sections) {
			a.Sections = omit(a.Sections, i)
			return &q
		}
		i -= len(a.Sections)
	}
	return &q
}
