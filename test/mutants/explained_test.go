package mutants

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// explanations reads why no test finds some mutants, by their keys: each line of the file is a
// key and, behind a colon, a reason.
func explanations(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("equivalent.txt")
	require.NoError(t, err)
	reasons := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, ": ")
		require.True(t, ok && reason != "", "a line without a reason: %q", line)
		require.Empty(t, reasons[key], "%s is explained twice", key)
		reasons[key] = reason
	}
	return reasons
}

// stale tells the lines of that file whose mutants are not there any more.
func stale(all []*generated, explained map[string]string) {
	known := map[string]bool{}
	for _, g := range all {
		known[g.key()] = true
	}
	for key := range explained {
		if !known[key] {
			tell("equivalent.txt names a mutant that is not there: %s", key)
		}
	}
}
