package nemesis

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func faultsPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/faults.md"))
	require.NoError(t, err)
	return string(page)
}

func TestTheFaultsPageNamesMutantsThatExistAndWhatFindsThem(t *testing.T) {
	_, page, found := strings.Cut(faultsPage(t), "\n## Without a safeguard\n")
	require.True(t, found)
	for _, m := range mutants {
		test, _, _ := strings.Cut(m.test, "/")
		require.Regexp(t, `\| `+regexp.QuoteMeta(m.name)+" \\| nemesis `"+test, page)
	}
	require.Len(t, regexp.MustCompile("\\| nemesis `").FindAllString(page, -1), len(mutants), "docs/faults.md names a mutant that is not there")
	simulated, err := os.ReadFile(filepath.Join(root, "test/mutants/table_test.go"))
	require.NoError(t, err)
	for _, row := range regexp.MustCompile("\\| (.*) \\| mutants `").FindAllStringSubmatch(page, -1) {
		require.True(t, strings.Contains(string(simulated), fmt.Sprintf("{%q, []edit{", row[1])), "docs/faults.md names a mutant that is not there: %s", row[1])
	}
}

func TestTheFaultsPageNamesEveryFaultAndTestsThatExist(t *testing.T) {
	page := faultsPage(t)
	for fault := 1; fault <= 39; fault++ {
		require.Contains(t, page, fmt.Sprintf("\n| %d |", fault))
	}

	var tests strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	}))
	for _, name := range regexp.MustCompile(`\bTest\w+`).FindAllString(page, -1) {
		require.Contains(t, tests.String(), "\nfunc "+name+"(", "docs/faults.md names a test that is not there")
	}
}
