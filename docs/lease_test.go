package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leaseConstant is a part of the session timeout, or a multiple, as internal/lease declares it.
var leaseConstant = regexp.MustCompile(`(?m)^\s(\w+)\s+= (\d+)(?:\.0( / \d+))?(?: +//|$)`)

// TestTheDesignShowsEachConstantOfTheLease with its value, what it is for, and what happens without it.
func TestTheDesignShowsEachConstantOfTheLease(t *testing.T) {
	var table []string
	for line := range strings.Lines(page(t, "design.md")) {
		if cells := strings.Split(strings.Trim(line, "|\n "), " | "); strings.HasPrefix(line, "| `") && len(cells) == 3 {
			table = append(table, cells[0])
		}
	}
	shown := strings.Join(table, ", ")
	files, err := filepath.Glob("../internal/lease/*.go")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range leaseConstant.FindAllStringSubmatch(string(text), -1) {
			found++
			factor, part := m[2], strings.ReplaceAll(m[3], " ", "")
			if factor == "1" {
				factor = ""
			}
			assert.Contains(t, shown+",", "`"+m[1]+"` "+factor+"T"+part+",", "the table of the lease in design.md lacks it")
		}
	}
	require.Greater(t, found, 3, "the constants are found")
}
