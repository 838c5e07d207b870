package cli

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/plain"
)

// How much is shown of what others have written, in characters.
const (
	longestOwner = shown.LongestOwner
	longestName  = shown.LongestName
	longestError = 1000
)

// plainJSON escapes what is not plain in JSON, which leaves it what it is.
func plainJSON(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		switch {
		case plain.Rune(r) || r == '\n':
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
