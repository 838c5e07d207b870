package sim

import (
	"fmt"
	"strings"
)

// Failure is a promise that was broken.
type Failure struct {
	Program  *Program
	Promise  string // "P1", ..., "liveness"
	Text     string
	Timeline string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d: %s: %s", f.Program.Seed, f.Promise, f.Text)
}

// Report is everything that helps to find the cause.
func (f *Failure) Report() string {
	var b strings.Builder
	focus := ""
	if f.Program.Focus != AllKinds {
		focus = fmt.Sprintf(" -focus %q", f.Program.Focus)
	}
	fmt.Fprintf(&b, "%v\n\nagain: go test ./internal/sim -run 'TestSimulation$' -seed %d%s\n\n", f, f.Program.Seed, focus)
	fmt.Fprintf(&b, "%v\n%d machines, %d actors, %d sections\nfaults:\n",
		f.Program.Cluster, len(f.Program.Machines), len(f.Program.Actors), countSections(f.Program))
	for _, fault := range f.Program.Faults {
		fmt.Fprintf(&b, "%9.3fs  %v\n", fault.At.Seconds(), fault)
	}
	fmt.Fprintf(&b, "timeline:\n%s", f.Timeline)
	return b.String()
}
