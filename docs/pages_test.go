package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// page returns the text of a page of this directory.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// sources returns the text of the Go files of these directories, with those below
// them or without; tests are those whose name says so.
func sources(t *testing.T, tests, below bool, dirs ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != dir && (!below || strings.HasPrefix(d.Name(), ".")):
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") != tests:
				return nil
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		}))
	}
	return all.String()
}

func TestEveryLineOfTheLogIsExplained(t *testing.T) {
	operations := page(t, "operations.md")
	messages := regexp.MustCompile(`"((?:zklock|membership): [^"]*)", "[a-z]|slog\.Level\w+, "(membership: [^"]*)"`)
	found := messages.FindAllStringSubmatch(sources(t, false, false, "..", "../internal/wire", "../internal/client", "../internal/queue", "../membership"), -1)
	require.Greater(t, len(found), 8, "the pattern finds the messages")
	for _, m := range found {
		require.Contains(t, operations, "`"+m[1]+m[2]+"`")
	}
}

func TestEveryEventOfATraceIsExplained(t *testing.T) {
	operations := page(t, "operations.md")
	for _, event := range reflect.VisibleFields(reflect.TypeFor[zklock.Trace]()) {
		require.Contains(t, operations, "`"+event.Name+"`")
	}
}

func TestEveryMetricIsExplained(t *testing.T) {
	operations := page(t, "operations.md")
	names := regexp.MustCompile(`"(zklock_\w+)"`).FindAllStringSubmatch(sources(t, false, false, "../zklockprom"), -1)
	require.Greater(t, len(names), 8, "the pattern finds the metrics")
	for _, m := range names {
		require.Contains(t, operations, "`"+m[1]+"`")
	}
}

func TestTheTestsThatThePagesNameAreThere(t *testing.T) {
	tests, named := sources(t, true, true, ".."), regexp.MustCompile("`(Test\\w+)`")
	for _, name := range []string{"comparison.md", "simulation.md", "../test/lock/README.md"} {
		names := named.FindAllStringSubmatch(page(t, name), -1)
		require.NotEmpty(t, names)
		for _, m := range names {
			require.True(t, strings.Contains(tests, "\nfunc "+m[1]+"("), "%s names %s, which is not there", name, m[1])
		}
	}
}

func TestTheFaultsThatThePageOfTheSimulationNamesAreDrawn(t *testing.T) {
	faults := page(t, "../test/sim/fault.go")
	_, table, _ := strings.Cut(page(t, "simulation.md"), "## Rare situations")
	names := regexp.MustCompile(`"[^"]+"`).FindAllString(table, -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.True(t, strings.Contains(faults, name), "there is no fault %s", name)
	}
}

// TestAPageSummarisesTheResultsThatAreThere finds a page that was left as it is when results were made anew.
func TestAPageSummarisesTheResultsThatAreThere(t *testing.T) {
	for _, name := range []string{"benchmarks.md", "mutants.md"} {
		results := page(t, "results/"+name)
		_, summary, found := strings.Cut(page(t, name), "## Last results\n")
		require.True(t, found, name)
		summary, _, _ = strings.Cut(summary, "\n## ")
		require.Regexp(t, `\bcommit [0-9a-f]{7,}`, summary, name)
		for line := range strings.Lines(summary) {
			if strings.HasPrefix(line, "|") || strings.Contains(line, " commit ") {
				require.True(t, strings.Contains(results, line), "%s says what is not in its results: %s", name, line)
			}
		}
	}
}
