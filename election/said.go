package election

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/zklock/zklock/internal/owner"
)

// said is what a candidate's node says: of its process what any lock's node does, so that zklock
// status shows it, and what has become of the candidate.
type said struct {
	host  string
	pid   int
	stage string // candidate or leader; "" of others than this package's
	since time.Time
	value []byte
}

// What a candidate is.
const (
	candidate = "candidate"
	leads     = "leader"
)

const inMilliseconds = "2006-01-02T15:04:05.000Z07:00"

// candidacy is what a node says that waits.
func candidacy() []byte { return []byte(owner.Ourselves() + " election=" + candidate) }

// leadership is what it says since it leads.
func leadership(since time.Time, value []byte) []byte {
	text := owner.Ourselves() + " election=" + leads + " held=" + since.Format(inMilliseconds)
	if len(value) > 0 {
		text += " value=" + url.PathEscape(string(value))
	}
	return []byte(text)
}

// readSaid is what a node says. Anybody may have written it.
func readSaid(data []byte) (s said) {
	for field := range strings.FieldsSeq(string(data)) {
		switch key, text, _ := strings.Cut(field, "="); key {
		case "host":
			s.host = text
		case "pid":
			s.pid, _ = strconv.Atoi(text)
		case "election":
			s.stage = text
		case "held":
			_ = s.since.UnmarshalText([]byte(text))
		case "value":
			if value, err := url.PathUnescape(text); err == nil {
				s.value = []byte(value)
			}
		}
	}
	return s
}
