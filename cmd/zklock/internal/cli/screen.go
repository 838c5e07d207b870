package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen shows views of a lock: on a terminal one in place of the other, elsewhere
// those that differ, one below the other.
type screen struct {
	status   *status
	terminal *os.File // nil if it is none
	last     view
	shown    bool
}

func newScreen(s *status) *screen {
	if s.format.value != "table" {
		return &screen{status: s}
	}
	return &screen{status: s, terminal: terminal(s.stdout)}
}

// show shows v, or, if it failed because no server could be reached, the last view
// and that it is old. Any other failure is returned.
func (s *screen) show(v view, failure error) error {
	note := ""
	switch {
	case failure == nil:
		s.last, v = v, s.last
	case codeOf(failure) != exitUnreachable:
		return failure
	default:
		note = "  No server answers."
	}
	if s.terminal != nil {
		return s.draw(note)
	}
	if failure != nil || s.shown && same(s.last, v) {
		return nil
	}
	if s.shown && s.status.format.value == "table" {
		fmt.Fprintln(s.status.out)
	}
	s.shown = true
	return s.status.write(s.last)
}

// Orders to a terminal.
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"

	// A character may be two columns wide: what does not fit is cut by the terminal.
	wrapOff = "\x1b[?7l"
	wrapOn  = "\x1b[?7h"
)

// The size of a terminal that says none, such as a serial console: the one that curses takes.
const (
	usualWidth  = 80
	usualHeight = 24
)

// draw fills the terminal with the last view, as much of it as fits.
func (s *screen) draw(note string) error {
	width, height, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil {
		return withCode(exitFailure, err)
	}
	width, height = cmp.Or(width, usualWidth), cmp.Or(height, usualHeight)
	asOf := s.last.at.Format(time.TimeOnly)
	current := s.last
	current.at = time.Now()
	var table bytes.Buffer
	if err := current.writeTable(&table); err != nil {
		return err
	}
	lines := append([]string{fmt.Sprintf("%s as of %s. Ctrl-C ends this.%s", current.path, asOf, note), ""},
		strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")...)
	if len(lines) >= height {
		lines = slices.Delete(lines, 1, 2) // the blank one
	}
	var out strings.Builder
	out.WriteString(wrapOff)
	if !s.shown {
		out.WriteString(clearScreen)
		s.shown = true
	}
	out.WriteString(home)
	for _, line := range fit(lines, width, height-1) {
		out.WriteString(line + clearLine + "\r\n")
	}
	out.WriteString(clearBelow + wrapOn)
	_, err = io.WriteString(s.status.out, out.String())
	return withCode(exitFailure, err)
}

// fit cuts lines to the width, and their number to the height, which it says.
func fit(lines []string, width, height int) []string {
	if height < 1 {
		return nil
	}
	if more := len(lines) - height; more > 0 {
		lines = append(lines[:height-1:height-1], fmt.Sprintf("... and %d more", more+1))
	}
	cut := make([]string, len(lines))
	for i, line := range lines {
		runes := []rune(line)
		cut[i] = string(runes[:min(len(runes), max(width, 0))])
	}
	return cut
}
