package mutants

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/test/sim"
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
		assert.True(t, known[key], "equivalent.txt names a mutant that is not there: %s", key)
	}
}

func TestTheWaysThatAreExplainedAreThere(t *testing.T) {
	known := map[string]bool{}
	for _, w := range load(t, deciding).ways(counted{}) {
		require.False(t, known[w.key()], "two ways are called %s", w.key())
		known[w.key()] = true
	}
	tests := namesOfTests(t)
	for key, reason := range explanationsIn(t, "untaken.txt") {
		assert.True(t, known[key], "untaken.txt names a way that is not there: %s", key)
		for _, name := range testName.FindAllString(reason, -1) {
			require.True(t, tests[name], "untaken.txt names a test that is not there: %s", name)
		}
	}
}

func TestThePageOfTheSimulationNamesFaultsAndTestsThatAreThere(t *testing.T) {
	faults, tests := map[string]bool{}, namesOfTests(t)
	for kind := range sim.AllKinds {
		faults[kind.String()] = true
	}
	for _, fault := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(simulationPage, -1) {
		require.True(t, faults[fault[1]], "no kind of fault is called %s", fault[1])
	}
	for _, name := range testName.FindAllString(simulationPage, -1) {
		require.True(t, tests[name], "no test is called %s", name)
	}
}

var testName = regexp.MustCompile(`\bTest\w+`)

// namesOfTests are those of all tests in the repository.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, declared := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			names[string(declared[1])] = true
		}
		return err
	}))
	return names
}
