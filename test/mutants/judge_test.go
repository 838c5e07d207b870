package mutants

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// verdicts
const (
	killed    = "killed"
	survived  = "survived"
	unreached = "not covered" // by any test
)

// outcome is what the tests say of a mutant.
type outcome struct {
	Verdict string
	By      string  `json:",omitempty"` // the test that has killed it
	Hung    bool    `json:",omitempty"` // by not ending
	Seconds float64 // that it took
}

// bench is what judges mutants.
type bench struct {
	effort
	reach *reach
	tests map[string]*tests // with all mutants, by package
	last  sync.Map          // by function: the name of the test that has killed one of its mutants last
}

// hearing is tests of one package that are run together.
type hearing struct {
	*tests
	names []string
	usual map[string]limits // what each takes
	args  []string
}

// firstPrograms are simulated before the tests that take longer than a second.
const firstPrograms = 300

// judge has the tests that reach the mutant judge it, the quick ones first, until one fails.
func (b *bench) judge(g *generated, path string) outcome {
	began := time.Now()
	o := outcome{Verdict: survived}
	by := b.reach.of(path, g.anchor)
	if len(by) == 0 {
		o.Verdict = unreached
	}
	for _, h := range append(b.likely(g, by), b.hearings(g.room, by)...) {
		if name, hung, failed := h.finds(g.number); failed {
			o = outcome{Verdict: killed, By: h.of + "." + name, Hung: hung}
			b.last.Store(g.function, o.By)
			break
		}
	}
	o.Seconds = time.Since(began).Seconds()
	return o
}

// likely is the test that has killed the last mutant of the same function: one process instead of many,
// if it finds this one too.
func (b *bench) likely(g *generated, by []*reaching) []*hearing {
	last, _ := b.last.Load(g.function)
	for _, r := range by {
		if r.Of+"."+r.Name == last && r.Name != simulating {
			return []*hearing{b.hearing(r.Of, isExample(r), 0, math.MaxInt64, []*reaching{r})}
		}
	}
	return nil
}

// hearings divides tests by how much work they are, and by package. Those of the mutant's own
// room are all heard, and before the simulation: an exhaustive check is soon through with what
// it finds.
func (b *bench) hearings(room string, by []*reaching) []*hearing {
	const quick, usual = 100 * time.Millisecond, time.Second
	simulates := slices.ContainsFunc(by, func(r *reaching) bool { return r.Name == simulating })
	var all []*hearing
	hear := func(from, to time.Duration, of ...string) {
		for _, of := range of {
			for _, examples := range []bool{false, true} { // which -failfast does not stop
				if h := b.hearing(of, examples, from, to, by); len(h.names) > 0 {
					all = append(all, h)
				}
			}
		}
	}
	own, others := []string{room}, slices.DeleteFunc(slices.Clone(judging()), func(of string) bool { return of == room })
	if len(others) == len(judging()) {
		own = nil
	}
	for _, of := range [][]string{own, others} {
		hear(0, quick, of...)
		hear(quick, usual, of...)
	}
	hear(usual, mostUsualTime, own...)
	if simulates && b.Programs > 0 {
		all = append(all, b.simulation(1, min(b.Programs, firstPrograms)))
	}
	hear(usual, b.Slowest, others...)
	if simulates && b.Programs > firstPrograms {
		all = append(all, b.simulation(1+firstPrograms, b.Programs-firstPrograms))
	}
	return all
}

// hearing is those tests of a package, or its examples, that are so much work.
func (b *bench) hearing(of string, examples bool, from, to time.Duration, by []*reaching) *hearing {
	h := &hearing{tests: b.tests[of], usual: map[string]limits{}}
	for _, r := range by {
		if r.Of == of && isExample(r) == examples && r.Name != simulating && r.Work >= from && r.Work < to {
			h.names = append(h.names, r.Name)
			h.usual[r.Name] = limits{r.Took, r.Work}
		}
	}
	return h
}

func isExample(r *reaching) bool { return strings.HasPrefix(r.Name, "Example") }

func (b *bench) simulation(first, programs int) *hearing {
	took := time.Duration(programs) * time.Second / 50
	return &hearing{
		tests: b.tests[simulator], names: []string{simulating}, usual: map[string]limits{simulating: {4 * took, took}},
		args: []string{"-test.cpu=1", fmt.Sprintf("-first=%d", first), fmt.Sprintf("-seeds=%d", programs)},
	}
}

// suspects find the test in the output that has failed or hangs.
var suspects = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^--- FAIL: (\w+)`),
	regexp.MustCompile(`running tests:\s+(\w+)`),
	regexp.MustCompile(`(?m)^=== RUN +(\w+)$`),
}

// patience is beside what tests usually take. A busy machine makes them take longer, but not more work.
var patience = limits{time.Minute, time.Second}

// finds reports whether a test fails with the mutant, and which. One that does not fail twice,
// or fails without the mutant as well, is heard no more.
func (h *hearing) finds(mutant int) (name string, hung, failed bool) {
	for names := h.names; len(names) > 0; {
		suspect, r := h.try(mutant, names)
		if r.passed {
			return "", false, false
		}
		if h.virtual() && !r.hung {
			return suspect, false, true
		}
		alone := []string{suspect}
		if _, r = h.try(mutant, alone); !r.passed {
			if _, without := h.try(0, alone); without.passed {
				return suspect, r.hung, true
			}
		}
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == suspect })
	}
	return "", false, false
}

// virtual reports whether no busy machine can make these tests fail.
func (h *hearing) virtual() bool { return h.names[0] == simulating }

// try runs tests, and returns the one of them that has failed or hangs; the first if none says
// so.
func (h *hearing) try(mutant int, names []string) (suspect string, r run) {
	most := patience
	for _, name := range names {
		most.took += 4 * h.usual[name].took
		most.work += 2 * h.usual[name].work
	}
	r = h.run(mutant, most, append(slices.Clone(h.args), only(names...), "-test.failfast", "-test.v")...)
	for _, pattern := range suspects {
		for _, m := range slices.Backward(pattern.FindAllStringSubmatch(r.output, -1)) { // the last has begun last
			if slices.Contains(names, m[1]) {
				return m[1], r
			}
		}
	}
	return names[0], r
}
