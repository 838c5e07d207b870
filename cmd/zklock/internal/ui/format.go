package ui

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
)

func hex(session int64) string { return client.Hex(session) }

// age is a time as people say it.
func age(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

func many(n int, what string) string {
	if n != 1 {
		if strings.HasSuffix(what, "s") {
			what += "e"
		}
		what += "s"
	}
	return grouped(n) + " " + what
}

// grouped writes a number as 10,000.
func grouped(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// quoted is a word as a shell takes it, in which nothing can do anything to whoever copies it.
func quoted(word string) string {
	safe := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/-_.,:%@+=", r))
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain.Rune(r) }) < 0 && !strings.ContainsRune(word, '\uFFFD') {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(word) {
		if c := word[i]; safe(rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + "'"
}

// id is a text as an element's id, which has no room for each.
func id(text string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return strconv.FormatUint(h.Sum64(), 36)
}

// short is the end of a node's name, which tells it from the others of its lock.
func short(name string) string {
	const most = 20
	if runes := []rune(plain.Name(name, 4*shown.LongestName)); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return plain.Name(name, most)
}

// command is what to type to do that to a node.
func (p *page) command(verb, path, node string) string {
	words := append([]string{"zklock", verb}, p.Flags...)
	words = append(words, path, "--node", node)
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

func (p *page) functions() template.FuncMap {
	return template.FuncMap{
		"age":     age,
		"ago":     func(t time.Time) string { return age(time.Since(t)) },
		"ms":      func(t time.Time) int64 { return t.UnixMilli() },
		"clock":   func(t time.Time) string { return t.Format(time.TimeOnly) },
		"rfc3339": func(t time.Time) string { return t.Format(time.RFC3339) },
		"short":   short,
		"id":      id,
		"quoted":  quoted,
		"many":    many,
		"grouped": grouped,
		"plain":   func(text string) string { return plain.Name(text, shown.LongestName) },
		"lockURL": func(path string) string { return "/lock?" + url.Values{"path": {path}}.Encode() },
		"rtt":     func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) },
	}
}
