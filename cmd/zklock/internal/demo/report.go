package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// screen prints lines, and below them the progress: in place on a terminal, as
// a line now and then elsewhere.
type screen struct {
	out      io.Writer
	terminal bool
	shown    bool // a progress line stands at the cursor
	last     time.Time
}

func (s *screen) say(format string, args ...any) {
	if s.shown {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.shown = false
	}
	fmt.Fprintf(s.out, format+"\n", args...)
}

// progress shows done of total, unless it did so a moment ago and more is to
// come.
func (s *screen) progress(done, total int, final bool) {
	pause := time.Second
	if s.terminal {
		pause = 50 * time.Millisecond
	}
	if !final && time.Since(s.last) < pause {
		return
	}
	s.last = time.Now()
	line := fmt.Sprintf("  %d of %d increments made", done, total)
	switch {
	case final || !s.terminal:
		s.say("%s", line)
	default:
		fmt.Fprint(s.out, "\r\x1b[K"+line)
		s.shown = true
	}
}

// lost is how many of the increments that were made are missing from the file.
// Every worker writes what it read plus one, so a value that two of them wrote
// is an increment lost.
func (c *crew) lost() int { return c.made() - c.counter }

// handOvers is how often an increment was followed by another process's.
func (c *crew) handOvers() int {
	by := make(map[int]*worker)
	for _, w := range c.workers {
		for _, v := range w.values {
			by[v] = w
		}
	}
	n := 0
	for v := 2; v <= c.counter; v++ {
		if by[v] != by[v-1] {
			n++
		}
	}
	return n
}

// table shows who held the lock how often.
func (c *crew) table() {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "process\tpid\theld\tincrements\tmean wait\tlongest wait\t")
	for _, w := range c.workers {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%s\t", w.number, w.pid(), len(w.waits), len(w.values),
			tidy(mean(w.waits)), tidy(slices.Max(w.waits)))
		if w.killed {
			fmt.Fprint(t, "  killed while holding")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	c.screen.say("\n%s\n  The lock went from one process to another %d times.", b.String(), c.handOvers())
}

func (c *crew) summary() {
	c.screen.say("  %d increments in %s. The file says %d: %s.", c.made(), tidy(c.took), c.counter, wereLost(c.lost()))
}

// verdict says whether the lock did its work, and whether that can be told.
func verdict(s *screen, unlocked, locked *crew) error {
	switch {
	case locked.lost() != 0:
		return fmt.Errorf("FAIL: under the lock, %d of %d increments were lost", locked.lost(), locked.made())
	case unlocked.lost() == 0:
		return fmt.Errorf("no verdict: without the lock no increment was lost either")
	}
	s.say("\nPASS: %d of %d increments were lost without the lock, none of %d with it.",
		unlocked.lost(), unlocked.made(), locked.made())
	return nil
}

func wereLost(lost int) string {
	switch lost {
	case 0:
		return "none was lost"
	case 1:
		return "1 was lost"
	}
	return fmt.Sprintf("%d were lost", lost)
}

func mean(of []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range of {
		sum += d
	}
	return sum / time.Duration(max(len(of), 1))
}

// tidy rounds to what a reader can use.
func tidy(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}
