// Package plain writes what others have said (servers, whoever writes to them, a user's errors) in a
// form that does nothing to a terminal or a log but stand there, and is no longer than a line may be.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name returns a text of which nothing is ours: what is not plain is escaped as in Go, a backslash
// too, and what is longer than that many characters is cut at its end.
func Name(text string, longest int) string {
	var b strings.Builder
	for width := 0; text != ""; {
		r, size := utf8.DecodeRuneInString(text)
		shown := text[:size]
		if r == '\\' {
			shown = `\\`
		} else if !isPlain(r, size) {
			shown = escaped(text[:size], r)
		}
		if width += utf8.RuneCountInString(shown); width > longest {
			return b.String() + "..."
		}
		b.WriteString(shown)
		text = text[size:]
	}
	return b.String()
}

// Message returns a text that quotes others: what is not plain is escaped, and what is too long is cut
// in its middle, since an error says its cause at the end.
func Message(text string, longest int) string {
	if len(text) <= longest && !strings.ContainsFunc(text, func(r rune) bool { return !Rune(r) || r == utf8.RuneError }) {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if isPlain(r, size) {
			b.WriteString(rest[:size])
		} else {
			b.WriteString(escaped(rest[:size], r))
		}
		rest = rest[size:]
	}
	shown := []rune(b.String())
	if len(shown) <= longest {
		return string(shown)
	}
	return string(shown[:longest/2]) + "..." + string(shown[len(shown)-longest/2:])
}

// Rune reports whether a terminal shows r in a place of its own, behind what was
// written before: letters from right to left, and marks, are shown elsewhere.
func Rune(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, rightToLeft, unicode.Mn, unicode.Me)
}

// isPlain is Rune of what was decoded from so many bytes.
func isPlain(r rune, size int) bool { return Rune(r) && (r != utf8.RuneError || size > 1) }

func escaped(text string, r rune) string {
	switch {
	case len(text) == 1:
		return fmt.Sprintf(`\x%02x`, text[0])
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// rightToLeft has the blocks that Unicode keeps for scripts from right to left.
var rightToLeft = &unicode.RangeTable{
	R16: []unicode.Range16{{0x0590, 0x08ff, 1}, {0xfb1d, 0xfdff, 1}, {0xfe70, 0xfeff, 1}},
	R32: []unicode.Range32{{0x10800, 0x10fff, 1}, {0x1e800, 0x1efff, 1}},
}
