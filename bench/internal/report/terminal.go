// Package report presents a run: on the terminal, by a line while it lasts and a
// table at its end, and as a page with plots.
package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zklock/zklock/bench/internal/result"
)

// Table writes every figure, one row for each party.
func Table(out io.Writer, run *result.Run) {
	fmt.Fprintf(out, "%s\n%s\n", header(run), strings.Join(run.Notes, "\n"))
	for _, f := range run.Figures {
		if len(f.Rows) > 0 {
			fmt.Fprintf(out, "\n%s (%s)\n", f.Title, unit(f))
			writeRows(out, run, f)
		}
	}
	fmt.Fprintln(out, "\nAims")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range verdicts(run) {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", v.What, v.Aim, v.Result())
	}
	w.Flush()
}

func header(run *result.Run) string {
	return fmt.Sprintf("%s, commit %s: %d cores, %s, %s, load %.1f at the start; %d rounds of %s in %s, %d ZooKeeper server(s)",
		run.Date.Format("2006-01-02 15:04 MST"), run.Commit, run.Machine.Cores, run.Machine.CPU, run.Machine.OS,
		run.Machine.Load, run.Rounds, run.Window, run.Took, run.Servers)
}

// unit says what a figure's medians are.
func unit(f result.Figure) string {
	most := 0
	for _, row := range f.Rows {
		most = max(most, len(row.Values))
	}
	return fmt.Sprintf("%s, median of %d", f.Unit, most)
}

func writeRows(out io.Writer, run *result.Run, f result.Figure) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer w.Flush()
	for _, c := range cells(run, f) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t %s\n", c.Party, c.Median, c.Spread, c.Ratio, c.Aim)
	}
}

// cell is a row of a figure as text.
type cell struct{ Party, Median, Spread, Ratio, Aim string }

// cells are a figure's rows. The ratio says how many times less than the best
// ZooKeeper peer a row is.
func cells(run *result.Run, f result.Figure) []cell {
	best, compared := f.BestPeer()
	var all []cell
	for _, row := range f.Rows {
		s := row.Summary()
		c := cell{
			Party:  row.Party,
			Median: number(s.Median),
			Spread: number(s.Min) + " – " + number(s.Max),
		}
		if compared && s.Median > 0 && best.Summary().Median > 0 {
			c.Ratio = number(best.Summary().Median/s.Median) + "×"
		}
		c.Aim = aimsOf(run, f.ID, row.Party)
		all = append(all, c)
	}
	return all
}

// aimsOf says in short what is wanted of a row.
func aimsOf(run *result.Run, figure, party string) string {
	var texts []string
	for _, v := range verdictsOn(run, figure, party) {
		word, _, _ := strings.Cut(v.Result(), ":")
		texts = append(texts, v.Aim+": "+word)
	}
	return strings.Join(texts, "; ")
}

// number writes what is worth reading of a number.
func number(x float64) string {
	digits := 2
	switch {
	case x == float64(int64(x)) && x < 100:
		digits = 0
	case x >= 100:
		digits = 0
	case x >= 10:
		digits = 1
	case x < 0.1:
		digits = 3
	}
	return fmt.Sprintf("%.*f", digits, x)
}

// Progress shows what is being done: on a terminal in one line that changes, in
// a log by a line now and then.
type Progress struct {
	out      *os.File
	terminal bool
	start    time.Time
	last     time.Time
}

// sparse is the time between two lines in a log.
const sparse = 20 * time.Second

// NewProgress returns one that writes to out.
func NewProgress(out *os.File) *Progress {
	info, err := out.Stat()
	return &Progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, start: time.Now()}
}

// Show shows what is being done.
func (p *Progress) Show(text string) {
	line := fmt.Sprintf("%6s  %s", time.Since(p.start).Truncate(time.Second), text)
	switch {
	case p.terminal:
		fmt.Fprintf(p.out, "\r\033[K%s", line)
	case time.Since(p.last) > sparse:
		p.last = time.Now()
		fmt.Fprintln(p.out, line)
	}
}

// Left shows what is being done and how long all that is left will take.
func (p *Progress) Left(text string, left time.Duration) {
	p.Show(fmt.Sprintf("about %s left: %s", left.Round(time.Second), text))
}

// End makes room for what comes after.
func (p *Progress) End() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K")
	}
}
