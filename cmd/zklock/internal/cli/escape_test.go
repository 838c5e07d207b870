package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestWhatIsNotPlainIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"db1 pid 7":       "db1 pid 7",
		"größe, 日本":       "größe, 日本",
		"a\x1b[2J\r\n\tb": `a\x1b[2J\x0d\x0a\x09b`,
		"\x7f\u009b":      `\x7f\u009b`,
		"\u202ea\u2066":   `\u202ea\u2066`,
		"אa":              `\u05d0a`,
		"e\u0301":         `e\u0301`,
		"\U000e0041":      `\U000e0041`,
		"\xff\xc3(":       `\xff\xc3(`,
		`\x1b`:            `\\x1b`,
		"a\u00a0b\ufffd":  `a\u00a0b�`,
	} {
		require.Equal(t, want, printable(text, 1000))
	}
	for r := range rune(0x3000) {
		shown := printable(string(r), 10)
		if shown != string(r) && strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' || r > '~' }) {
			require.Fail(t, "not escaped", "%q", shown)
		}
	}
}

func TestWhatIsLongIsCutBetweenItsEscapes(t *testing.T) {
	require.Equal(t, "aaaa", printable("aaaa", 4))
	require.Equal(t, "aaaa...", printable("aaaaa", 4))
	require.Equal(t, "aaa...", printable("aaa\x1b", 4))
	require.Equal(t, `\x1b...`, printable("\x1b\x1b", 7))
	require.Equal(t, "aaaa...bbbb", abridged(strings.Repeat("a", 1000)+"bbbb", 8))
	require.Equal(t, "aaaabbbb", abridged("aaaabbbb", 8))
}

func TestAMessageThatQuotesAServerIsEscapedAndSaysWhy(t *testing.T) {
	err := &zklock.Error{Op: "revoke", Path: "/p/\u202e\x1b" + strings.Repeat("n", 1<<20), Err: errors.New("not authenticated")}
	for _, format := range []string{"text", "json"} {
		cmd, _, unknown := New().Find([]string{"status"})
		require.NoError(t, unknown)
		require.NoError(t, cmd.Flags().Set(logFormatFlag, format))
		var said bytes.Buffer
		report(&said, cmd, err)
		text := strings.TrimSuffix(said.String(), "\n")
		require.Contains(t, text, `/p/\u202e`)
		require.Contains(t, text, "not authenticated")
		for _, r := range text {
			require.True(t, unicode.IsPrint(r), "%q", r)
		}
		if format == "json" {
			require.True(t, json.Valid(said.Bytes()))
		} else {
			require.Less(t, len(text), 2000)
		}
	}
}
