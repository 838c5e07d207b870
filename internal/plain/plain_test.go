package plain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		require.Equal(t, want, Name(text, 1000))
	}
	for r := range rune(0x3000) {
		shown := Name(string(r), 10)
		if shown != string(r) && strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' || r > '~' }) {
			require.Fail(t, "not escaped", "%q", shown)
		}
	}
}

func TestWhatIsLongIsCutBetweenItsEscapes(t *testing.T) {
	require.Equal(t, "aaaa", Name("aaaa", 4))
	require.Equal(t, "aaaa...", Name("aaaaa", 4))
	require.Equal(t, "aaa...", Name("aaa\x1b", 4))
	require.Equal(t, `\x1b...`, Name("\x1b\x1b", 7))
	require.Equal(t, "aaaa...bbbb", Message(strings.Repeat("a", 1000)+"bbbb", 8))
	require.Equal(t, "aaaabbbb", Message("aaaabbbb", 8))
}

func TestAMessageKeepsWhatIsPlainAndWhatWasEscapedBefore(t *testing.T) {
	for text, want := range map[string]string{
		"connect zk1:2181: größe":    "connect zk1:2181: größe",
		"a\nzklock: lock lost\x1b[m": `a\x0azklock: lock lost\x1b[m`,
		"\xff and \ufffd":            `\xff and �`,
		`begins with "\x15\x03"`:     `begins with "\x15\x03"`,
	} {
		shown := Message(text, 100)
		require.Equal(t, want, shown)
		require.Equal(t, shown, Message(shown, 100), "the command writes what the library has written")
	}
	require.Equal(t, `aaaa...\x0a`, Message("aaaaaaaa\n", 8))
}
