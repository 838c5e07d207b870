package mutants

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// explanations reads why no test finds some mutants, by their keys.
func explanations(t *testing.T) map[string]string {
	t.Helper()
	return explanationsIn(t, "equivalent.txt")
}

// explanationsIn reads a file each of whose lines is a key and, behind a colon, a reason.
func explanationsIn(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
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

func TestTheMutantsThatAreExplainedAreGenerated(t *testing.T) {
	known := map[string]bool{}
	for _, g := range load(t, rooms).generate(t) {
		known[g.key()] = true
	}
	for key := range explanations(t) {
		require.True(t, known[key], "equivalent.txt names a mutant that is not there: %s", key)
	}
}
