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

func TestTheFaultsPageNamesEveryFaultAndTestsThatExist(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "docs/faults.md"))
	require.NoError(t, err)
	for fault := 1; fault <= 39; fault++ {
		require.Contains(t, string(page), fmt.Sprintf("\n| %d |", fault))
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
	for _, name := range regexp.MustCompile(`\bTest\w+`).FindAllString(string(page), -1) {
		require.Contains(t, tests.String(), "\nfunc "+name+"(", "docs/faults.md names a test that is not there")
	}
}
