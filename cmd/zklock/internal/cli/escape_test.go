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

func TestAMessageThatQuotesAServerIsEscapedAndSaysWhy(t *testing.T) {
	err := &zklock.Error{Op: "revoke", Path: "/p/\u202e\x1b" + strings.Repeat("n", 1<<20), Err: errors.New("not authenticated")}
	for _, format := range []string{"text", "json"} {
		cmd, _, unknown := New().Find([]string{"status"})
		require.NoError(t, unknown)
		require.NoError(t, cmd.Flags().Set(logFormatFlag, format))
		var said bytes.Buffer
		report(&said, cmd, err)
		text := strings.TrimSuffix(said.String(), "\n")
		if format == "json" {
			var line struct{ Msg string }
			require.NoError(t, json.Unmarshal(said.Bytes(), &line))
			text = line.Msg
		}
		require.Contains(t, text, `/p/\u202e`)
		require.Contains(t, text, "not authenticated")
		require.Less(t, len(text), 2100)
		for _, r := range text {
			require.True(t, unicode.IsPrint(r), "%q", r)
		}
	}
}
