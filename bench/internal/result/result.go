// Package result is what a run of the benchmark has measured: what the table,
// the page and the plots are made from, and what is kept as JSON.
package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Run is a whole run.
type Run struct {
	Date     time.Time
	Took     time.Duration
	Commit   string
	Machine  Machine
	Rounds   int
	Window   time.Duration // of one measurement
	Servers  int           // of ZooKeeper
	Versions []Version
	Notes    []string // what was skipped, or went wrong
	Figures  []Figure
}

// Machine is what the run was made on.
type Machine struct {
	CPU   string
	Cores int
	OS    string
	// Load is the average number of runnable processes of the minute before
	// the run.
	Load float64
}

// Version is that of one piece of software that took part.
type Version struct{ Name, Version string }

// Figure is one quantity, as measured for each party. Less is better.
type Figure struct {
	ID, Title, Unit string
	Rows            []Row
}

// Role is what a party is in the comparison.
type Role string

// The roles: zklock itself, the ZooKeeper locks that it is compared to, what a
// user may take instead of ZooKeeper, and what no lock can go below.
const (
	Subject Role = "subject"
	Peer    Role = "peer"
	Other   Role = "other"
	Floor   Role = "floor"
)

// Row is what one party's rounds have given.
type Row struct {
	Party  string
	Role   Role
	Values []float64
}

// Summary is the values of a row in three numbers.
type Summary struct{ Median, Min, Max float64 }

// Summary returns the zero Summary if the row has no values.
func (r Row) Summary() Summary {
	if len(r.Values) == 0 {
		return Summary{}
	}
	return Summary{Median: Median(r.Values), Min: slices.Min(r.Values), Max: slices.Max(r.Values)}
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

// Figure returns the figure with an id.
func (r *Run) Figure(id string) (Figure, bool) {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.ID == id })
	if i < 0 {
		return Figure{}, false
	}
	return r.Figures[i], true
}

// Row returns the row of a party.
func (f Figure) Row(party string) (Row, bool) {
	i := slices.IndexFunc(f.Rows, func(r Row) bool { return r.Party == party })
	if i < 0 {
		return Row{}, false
	}
	return f.Rows[i], true
}

// BestPeer returns the ZooKeeper peer with the least median.
func (f Figure) BestPeer() (Row, bool) {
	var best Row
	for _, r := range f.Rows {
		if r.Role == Peer && (best.Values == nil || r.Summary().Median < best.Summary().Median) {
			best = r
		}
	}
	return best, best.Values != nil
}

// Load reads a run that Save has written.
func Load(name string) (*Run, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	run := new(Run)
	if err := json.Unmarshal(data, run); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return run, nil
}

// Save writes the run to a file.
func (r *Run) Save(name string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(data, '\n'), 0o644)
}
