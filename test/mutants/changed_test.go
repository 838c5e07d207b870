package mutants

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lines are lines of files, by their names in the module.
type lines map[string]map[int]bool

// changedSince returns the lines that are not as they were in a commit.
func changedSince(t *testing.T, commit string) lines {
	t.Helper()
	diff := exec.Command("git", "diff", "-U0", "--no-color", "--relative", commit, "--", "*.go")
	diff.Dir = root
	out, err := diff.Output()
	require.NoError(t, err)
	return linesOf(string(out))
}

// linesOf reads a diff without context.
func linesOf(diff string) lines {
	changed, file := lines{}, ""
	for _, line := range strings.Split(diff, "\n") {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = name
			changed[file] = map[int]bool{}
		}
		_, now, ok := strings.Cut(line, " +")
		if !ok || !strings.HasPrefix(line, "@@ ") {
			continue
		}
		first, count := 0, 1
		if n, _ := fmt.Sscanf(now, "%d,%d", &first, &count); n == 0 {
			continue
		}
		for i := range max(count, 1) { // where lines have gone, those beside them have changed
			changed[file][first+i] = true
		}
	}
	return changed
}

// in reports whether the mutant's function has one of the lines.
func (g *generated) in(changed lines) bool {
	f := g.function
	from, to := f.positions.Position(f.Pos()).Line, f.positions.Position(f.End()).Line
	for line := from; line <= to; line++ {
		if changed[g.file][line] {
			return true
		}
	}
	return false
}
