package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zklock/zklock/zktest"
)

// timeline is what happened, in virtual time. Its entries are put into words
// only when somebody wants to read them.
type timeline struct {
	start   time.Time
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	at     time.Duration
	who    string
	format string
	args   []any
}

func newTimeline() *timeline { return &timeline{start: time.Now()} }

// note adds an entry. Its arguments must not change afterwards.
func (t *timeline) note(who, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, entry{time.Since(t.start), who, format, args})
}

// String is the timeline as a text, a line for each entry.
func (t *timeline) String() string {
	t.mu.Lock()
	entries := slices.Clone(t.entries)
	t.mu.Unlock()
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%9.3fs  %-9s %s\n", e.at.Seconds(), e.who, fmt.Sprintf(e.format, e.args...))
	}
	return b.String()
}

// committed is a change of the tree or of a session, to be put into words when it is printed.
type committed struct {
	txn    zktest.Txn
	change zktest.Change
}

func (c committed) String() string {
	switch c.change.Kind {
	case zktest.SessionCreated, zktest.SessionClosed:
		return fmt.Sprintf("%v %#x (%v)", c.change.Kind, c.change.Session, c.change.Cause)
	}
	return fmt.Sprintf("%v %s by session %#x (%v), zxid %#x", c.change.Kind, c.change.Path, c.txn.Session, c.change.Cause, c.txn.Zxid)
}

// logTo is a slog.Handler that writes into the timeline.
type logTo struct {
	log *timeline
	who string
}

func (l *logTo) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *logTo) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logTo) WithGroup(string) slog.Handler                    { return l }

func (l *logTo) Handle(_ context.Context, r slog.Record) error {
	l.log.note(l.who, "log: %s%v", r.Message, attrs(r))
	return nil
}

// attrs are a record's attributes, to be put into words when they are printed.
type attrs slog.Record

func (a attrs) String() string {
	text := ""
	slog.Record(a).Attrs(func(attr slog.Attr) bool {
		if id, ok := attr.Value.Any().(int64); ok && attr.Key == "session" {
			text += fmt.Sprintf(" session=%#x", id)
		} else {
			text += fmt.Sprintf(" %s=%v", attr.Key, attr.Value)
		}
		return true
	})
	return text
}
