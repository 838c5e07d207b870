// Package line is the language between the benchmark and the programs that do
// its work: one line each way, a word and then key=value pairs, so that a
// program in any language speaks it in a few statements.
package line

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Message is one line. Values are escaped as in a URL.
type Message struct {
	Word   string
	Fields map[string]string
}

// Parse reads a line without its end.
func Parse(text string) (Message, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Message{}, fmt.Errorf("line: an empty message")
	}
	m := Message{Word: words[0], Fields: make(map[string]string)}
	for _, pair := range words[1:] {
		key, escaped, ok := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(escaped)
		if !ok || err != nil {
			return Message{}, fmt.Errorf("line: %q in %q is no key=value", pair, text)
		}
		m.Fields[key] = value
	}
	return m, nil
}

// String returns the line without its end.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.Word)
	for _, key := range slices.Sorted(maps.Keys(m.Fields)) {
		fmt.Fprintf(&b, " %s=%s", key, url.QueryEscape(m.Fields[key]))
	}
	return b.String()
}

// Int returns a field as a number, and 0 if it is missing or none.
func (m Message) Int(key string) int {
	n, _ := strconv.Atoi(m.Fields[key])
	return n
}

// List returns the words of a field that are separated by commas.
func (m Message) List(key string) []string { return strings.Split(m.Fields[key], ",") }
