package demo

import (
	"fmt"
	"io"
	"os"
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

func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	return &screen{out: f, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
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
