package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// How much is shown of what others have written, in characters.
const (
	longestOwner = 60
	longestName  = 120
	longestError = 1000
)

// printable returns what a server, or whoever writes to it, says in a form that does
// nothing to a terminal but stand there: everything else is escaped as in Go, and it
// is cut to the length.
func printable(text string, longest int) string {
	var b strings.Builder
	for width := 0; text != ""; {
		r, size := utf8.DecodeRuneInString(text)
		shown := text[:size]
		switch {
		case r == utf8.RuneError && size == 1:
			shown = fmt.Sprintf(`\x%02x`, text[0])
		case r == '\\':
			shown = `\\`
		case !plain(r):
			shown = escaped(r)
		}
		if width += utf8.RuneCountInString(shown); width > longest {
			return b.String() + "..."
		}
		b.WriteString(shown)
		text = text[size:]
	}
	return b.String()
}

// abridged is printable for an error, whose cause stands at its end.
func abridged(text string, longest int) string {
	shown := []rune(printable(text, math.MaxInt))
	if len(shown) <= longest {
		return string(shown)
	}
	return string(shown[:longest/2]) + "..." + string(shown[len(shown)-longest/2:])
}

func escaped(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// plain reports whether a terminal shows r in a place of its own, behind what was
// written before: letters from right to left, and marks, are shown elsewhere.
func plain(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, rightToLeft, unicode.Mn, unicode.Me)
}

// rightToLeft has the blocks that Unicode keeps for scripts from right to left.
var rightToLeft = &unicode.RangeTable{
	R16: []unicode.Range16{{0x0590, 0x08ff, 1}, {0xfb1d, 0xfdff, 1}, {0xfe70, 0xfeff, 1}},
	R32: []unicode.Range32{{0x10800, 0x10fff, 1}, {0x1e800, 0x1efff, 1}},
}

// plainJSON escapes what is not plain in JSON, which leaves it what it is.
func plainJSON(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		switch {
		case plain(r) || r == '\n':
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// plainWriter is for lines of JSON, or of log/slog, whose own escapes leave more than
// is plain.
type plainWriter struct{ to io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := w.to.Write(plainJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
