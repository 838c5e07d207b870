package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
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
