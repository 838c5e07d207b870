package nemesis

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Violation says how a promise was broken.
type Violation string

// checkPatience is how long the search for an order of one path's history may
// take. A history without a verdict counts as a bad one.
const checkPatience = time.Minute

// Linearizable checks that the history of each path is one that a fenced lock can
// have: there is an order of all grants and ends, each within its time, in which no
// lock is held beyond its size and tokens rise. A hold lasts for as long as its owner
// could believe in it, and for as long as its lost channel was open. Re-entries are
// left out: they are within a hold that goes on.
//
// A history that is not is drawn into a file in dir, with the faults of its time,
// and the violation names the file.
func Linearizable(ops []*Op, faults []Injection, dir string) []Violation {
	paths := make(map[string][]*Op)
	for _, o := range ops {
		paths[o.Path] = append(paths[o.Path], o)
	}
	var found []Violation
	for path, of := range paths {
		history := transitions(of)
		verdict, info := porcupine.CheckOperationsVerbose(lockModel, history, checkPatience)
		if verdict == porcupine.Ok {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")+".html")
		info.AddAnnotations(annotations(faults))
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = porcupine.VisualizePath(lockModel, info, file)
		}
		found = append(found, Violation(fmt.Sprintf("the history of %s is %s%s: see %s (%v)", path, verdict, misfit(history, info), file, err)))
	}
	return found
}

// misfit says where the longest order ends that was found.
func misfit(history []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	state := lockModel.Init()
	rest := slices.Clone(history)
	for _, t := range longest {
		_, state = lockModel.Step(state, t.Input, nil)
		rest = slices.DeleteFunc(rest, func(u porcupine.Operation) bool { return u.Input == t.Input })
	}
	if len(rest) == 0 {
		return ""
	}
	next := slices.MinFunc(rest, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	t := next.Input.(transition)
	return fmt.Sprintf(" (%s: %v, while %v)", t.what, t.op, state)
}

// transition is a change of the lock of one path.
type transition struct {
	what string // acquired, or how the hold has ended
	op   *Op
}

const acquired = "acquired"

// transitions returns what the ops at one path did to the lock. One that failed did
// nothing. One without an answer may have held the lock for some time, but then the
// others fit without it all the more.
func transitions(ops []*Op) []porcupine.Operation {
	type client struct{ process, client int }
	numbers := make(map[client]int)
	var all []porcupine.Operation
	for _, o := range ops {
		if !o.ok() {
			continue
		}
		who := client{o.Process, o.Client}
		if _, known := numbers[who]; !known {
			numbers[who] = len(numbers)
		}
		what, end := "ended by a kill", Instant(math.MaxInt64)
		switch {
		case o.Lost != 0:
			what, end = "lost", o.Lost
		case o.Freed != 0:
			what, end = "released", o.Freed
		}
		all = append(all,
			porcupine.Operation{ClientId: numbers[who], Input: transition{acquired, o}, Call: int64(o.Invoked), Return: int64(o.OK)},
			porcupine.Operation{ClientId: numbers[who], Input: transition{what, o}, Call: int64(o.held()), Return: int64(end)})
	}
	return all
}

// lockState is a lock as its clients see it. It is not changed once made.
type lockState struct {
	holders []*Op
	whole   int64 // highest token of those that held the whole lock
	highest int64 // of all tokens
}

// lockModel is a lock with fencing tokens, of which parts can be held: whoever
// acquires finds the parts free, and gets a token above those of all that held the
// whole; whoever acquires the whole gets one above all.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) { return state.(lockState).step(input.(transition)) },
	Equal: func(a, b any) bool {
		x, y := a.(lockState), b.(lockState)
		return x.whole == y.whole && x.highest == y.highest && slices.Equal(x.holders, y.holders)
	},
	DescribeOperation: describe,
	DescribeState:     func(state any) string { return state.(lockState).String() },
}

// step returns what the transition leads to, and reports whether it can be.
func (s lockState) step(t transition) (bool, lockState) {
	o := t.op
	if t.what != acquired {
		i := slices.Index(s.holders, o)
		if i < 0 {
			return false, s
		}
		s.holders = slices.Delete(slices.Clone(s.holders), i, i+1)
		return true, s
	}
	taken := o.Share.Parts
	for _, other := range s.holders {
		taken += other.Share.Parts
	}
	asked := o.Token != 0
	if taken > o.Share.Of || asked && (o.Token <= s.whole || o.Share.whole() && o.Token <= s.highest) {
		return false, s
	}
	s.holders = append(slices.Clone(s.holders), o)
	if asked && o.Share.whole() {
		s.whole = o.Token
	}
	s.highest = max(s.highest, o.Token)
	return true, s
}

func (s lockState) String() string {
	if len(s.holders) == 0 {
		return fmt.Sprintf("free, highest token %#x", s.highest)
	}
	var holders []string
	for _, o := range s.holders {
		holders = append(holders, o.String())
	}
	return "held: " + strings.Join(holders, "; ")
}

func describe(input, _ any) string {
	t := input.(transition)
	return fmt.Sprintf("%s %v -> token %#x", t.what, t.op.Share, t.op.Token)
}

// annotations shows the faults in the picture of a history.
func annotations(faults []Injection) []porcupine.Annotation {
	var all []porcupine.Annotation
	for _, f := range faults {
		all = append(all, porcupine.Annotation{
			Tag: "nemesis", Start: int64(f.Began), End: int64(f.Ended), Description: f.Fault, BackgroundColor: "#ffb3b3",
		})
	}
	return all
}
