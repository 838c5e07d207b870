package main

import (
	"fmt"
	"os"
	"time"
)

// progress shows what is being done: on a terminal in one line that changes, in
// a log by a line now and then.
type progress struct {
	out      *os.File
	terminal bool
	start    time.Time
	last     time.Time
}

// sparse is the time between two lines in a log.
const sparse = 20 * time.Second

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, start: time.Now()}
}

func (p *progress) show(text string) {
	line := fmt.Sprintf("%6s  %s", time.Since(p.start).Truncate(time.Second), text)
	switch {
	case p.terminal:
		fmt.Fprintf(p.out, "\r\033[K%s", line)
	case time.Since(p.last) > sparse:
		p.last = time.Now()
		fmt.Fprintln(p.out, line)
	}
}

// left shows what is being done and how long all that is left will take.
func (p *progress) left(text string, left time.Duration) {
	p.show(fmt.Sprintf("about %s left: %s", left.Round(time.Second), text))
}

// end makes room for what comes after.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K")
	}
}
