package nemesis

import "fmt"

// Update is one read and write of a register that a holder of a lock made: it
// wrote what it read plus one. It is reported before the write, as unknown, and
// after it.
type Update struct {
	Register string
	Process  int
	ID       int64 // within the process
	Token    int64 // of the hold
	Wrote    int
	Outcome  Outcome
}

// Outcome is what is known of a write.
type Outcome int

// What is known of a write.
const (
	Unknown Outcome = iota // its answer was lost, or its writer
	Written
	Refused // by the fence
)

// LostUpdates checks, by what the registers hold at the end, that each value was
// confirmed to one writer only and none was skipped or forgotten: no update may
// have undone another.
func LostUpdates(updates []Update, final map[string]int) []Violation {
	type slot struct {
		register string
		value    int
	}
	var found []Violation
	confirmed, possible := make(map[slot]Update), make(map[slot]bool)
	for _, u := range updates {
		at := slot{u.Register, u.Wrote}
		if u.Outcome == Unknown {
			possible[at] = true
		}
		if u.Outcome != Written {
			continue
		}
		if earlier, twice := confirmed[at]; twice {
			found = append(found, Violation(fmt.Sprintf("%s: %d was written under the token %#x and under %#x: an update is lost",
				u.Register, u.Wrote, earlier.Token, u.Token)))
		}
		if u.Wrote > final[u.Register] {
			found = append(found, Violation(fmt.Sprintf("%s: %d was written, and the register ends at %d",
				u.Register, u.Wrote, final[u.Register])))
		}
		confirmed[at] = u
	}
	for register, last := range final {
		for value := 1; value <= last; value++ {
			at := slot{register, value}
			if _, known := confirmed[at]; !known && !possible[at] {
				found = append(found, Violation(fmt.Sprintf("%s: nobody wrote %d of %d", register, value, last)))
			}
		}
	}
	return found
}
