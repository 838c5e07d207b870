package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/plain"
)

// change is what ls --watch tells of one lock, or of a path that may not be read.
type change struct {
	view
	hidden bool
}

// tell writes each lock at and below prefix, and then each that changes, until ctx ends.
func tell(ctx context.Context, session *zklock.Session, prefix string, out io.Writer, write func(change, io.Writer) error) error {
	var before []string
	for changed, err := range zklock.Watch(ctx, session, prefix) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		hidden, err := hiddenBy(prefix, err)
		if err != nil {
			return err
		}
		for _, l := range changed {
			if err := write(change{view: viewOf(session, l)}, out); err != nil {
				return withCode(exitFailure, err)
			}
		}
		for _, path := range hidden {
			if slices.Contains(before, path) {
				continue
			}
			if err := write(change{view{path: path, at: time.Now()}, true}, out); err != nil {
				return withCode(exitFailure, err)
			}
		}
		before = hidden
	}
	return context.Cause(ctx)
}

// state is what the line of a lock says of it.
func (c change) state() string {
	holders, waiters := c.held()
	switch {
	case c.hidden:
		return "unreadable"
	case len(holders) > 0:
		return "held"
	case len(waiters) > 0:
		return "waited for" // as a semaphore is, between two turns
	}
	return "free"
}

// writeJSON writes the change as a line of JSON.
func (c change) writeJSON(to io.Writer) error {
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Time  time.Time `json:"time"`
		State string    `json:"state"`
		lockLine
	}{c.at, c.state(), c.line()})
}

// writeLine writes the change for people.
func (c change) writeLine(to io.Writer) error {
	line := fmt.Sprintf("%s  %s  %s", c.at.Format(time.TimeOnly), plain.Name(c.path, longestName), c.state())
	if holders, waiters := c.held(); len(holders) > 0 {
		line += fmt.Sprintf(" by %s, %d wait", c.holder(), len(waiters))
	}
	_, err := fmt.Fprintln(to, line)
	return err
}
