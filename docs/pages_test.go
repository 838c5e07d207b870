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

func TestTheTestsThatTheComparisonNamesAreThere(t *testing.T) {
	tests := sources(t, true, true, "..")
	names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page(t, "comparison.md"), -1)
	require.NotEmpty(t, names)
	for _, m := range names {
		require.Contains(t, tests, "func "+m[1]+"(")
	}
}
