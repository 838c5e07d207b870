package nemesis

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkPatience is how long the search for an order of one path's history may
// take. A history without a verdict counts as a bad one.
const checkPatience = time.Minute

// Linearize checks that the history of each path is one that a reentrant, fenced
// lock can have. A history that is not is drawn into a file in dir, with the
// faults of its time, and the violation names the file.
func Linearize(attempts []*Attempt, faults []Stroke, dir string) []Violation {
	var found []Violation
	for path, of := range byPath(attempts) {
		verdict, info := porcupine.CheckOperationsVerbose(lockModel, operations(of), checkPatience)
		if verdict == porcupine.Ok {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")+".html")
		info.AddAnnotations(annotations(faults))
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = porcupine.VisualizePath(lockModel, info, file)
		}
		found = append(found, Violation(fmt.Sprintf("the history of %s is %s: see %s (%v)", path, verdict, file, err)))
	}
	return found
}

const forever = math.MaxInt64

// operations translates the attempts at one path.
func operations(attempts []*Attempt) []porcupine.Operation {
	type client struct{ process, client int }
	numbers := make(map[client]int)
	var all []porcupine.Operation
	for _, a := range attempts {
		who := client{a.Process, a.Client}
		if _, known := numbers[who]; !known {
			numbers[who] = len(numbers)
		}
		add := func(kind operationKind, call, end Instant) {
			all = append(all, porcupine.Operation{
				ClientId: numbers[who],
				Input:    operation{kind, a}, Call: int64(call), Return: int64(end),
			})
		}
		a.operations(add)
	}
	return all
}

// operations adds what an attempt did to the lock. An attempt that was denied did
// nothing; of one whose end is not known nobody can tell.
func (a *Attempt) operations(add func(kind operationKind, call, end Instant)) {
	switch {
	case a.Denied != 0:
		return
	case !a.granted():
		add(acquireUnknown, a.Called, forever)
		add(vanish, a.Called, forever)
		return
	}
	add(acquire, a.Called, a.Got)
	for _, n := range a.Nested {
		if n.Unlocked <= a.believed() {
			add(lockAgain, n.Lock, n.Locked)
			add(unlockAgain, n.Unlock, n.Unlocked)
		}
	}
	// A hold that was never seen valid may have ended before its stamp.
	last := max(a.Called, a.believed())
	switch {
	case a.Lost != 0:
		add(lose, last, a.Lost)
	case a.Freed != 0:
		add(release, last, a.Freed)
	default:
		add(vanish, last, forever)
	}
}

// annotations shows the faults in the picture of a history.
func annotations(faults []Stroke) []porcupine.Annotation {
	var all []porcupine.Annotation
	for _, f := range faults {
		all = append(all, porcupine.Annotation{
			Tag: "nemesis", Start: int64(f.Began), End: int64(f.Ended), Description: f.What, BackgroundColor: "#ffb3b3",
		})
	}
	return all
}
