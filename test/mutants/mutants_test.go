package mutants

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seeds  = flag.Int("seeds", 30_000, "how many programs may be simulated until a mutant has to be found")
	tables = flag.Bool("tables", false, "judge all mutants of the tables, which takes a quarter of an hour, instead of a few by chance")
)

const (
	root       = "../.." // the directory of the library
	simulation = root + "/" + simulator
)

func TestTheSimulationFindsEveryMutant(t *testing.T) {
	if !*tables {
		t.Skip("simulates many thousands of programs: -tables runs it")
	}
	for name := range focus {
		require.True(t, slices.ContainsFunc(all, func(m mutant) bool { return m.name == name }), "%s is no mutant", name)
	}
	b := combine(t, simulation, all)
	table := make([]string, len(all))
	t.Run("mutants", func(t *testing.T) {
		for i, m := range all {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				table[i] = fmt.Sprintf("%-55s %s, %v\n", m.name, m.hunt(t, b), time.Since(start).Round(time.Second))
			})
		}
	})
	t.Logf("mutant, seeds until it was found, what gave it away:\n%s", strings.Join(table, ""))
}

// chosenOf are the mutants of a table that are judged: n by chance, or all.
func chosenOf[M any](table []M, n int) []M {
	if *tables {
		return table
	}
	return bySeed(table, n)
}

// A change of the library may take the place away that a mutant is to change, or the test that
// is to find it.
func TestTheMutantsChangeTextsThatOccurOnce(t *testing.T) {
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) { m.texts(t) })
	}
	tests := map[string]string{}
	for _, m := range ofTheLibrary {
		t.Run(m.name, func(t *testing.T) {
			m.texts(t)
			of, test := m.place()
			requireTest(t, tests, of, test)
		})
	}
	for _, m := range ofTheCommand {
		t.Run(m.name, func(t *testing.T) {
			m.texts(t)
			requireTest(t, tests, filepath.Join(root, m.of), m.test)
		})
	}
}

// A run builds the mutants that it judges, and it judges a few. This builds all of them, without tests.
func TestTheMutantsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library and the command with their mutants")
	}
	ofModule := map[string][]mutant{".": slices.Clone(all)}
	for _, m := range ofTheLibrary {
		ofModule["."] = append(ofModule["."], m.mutant)
	}
	for _, m := range ofTheCommand {
		ofModule[command] = append(ofModule[command], m.mutant)
	}
	for module, mutants := range ofModule {
		build := func(texts map[string]string) {
			t.Helper()
			args := []string{"build", "-overlay", overlay(t, texts)}
			for _, file := range slices.Sorted(maps.Keys(texts)) {
				of, err := filepath.Rel(module, filepath.Dir(file))
				require.NoError(t, err)
				args = append(args, "./"+of)
			}
			build := exec.Command("go", slices.Compact(args)...)
			build.Dir = filepath.Join(root, module)
			out, err := build.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		texts, number := merge(t, mutants)
		build(texts)
		for _, m := range mutants {
			if number[m.name] == 0 && len(m.changes) > 0 {
				build(m.texts(t))
			}
		}
	}
}

// requireTest requires that the package in the directory of has a test of that name. The texts of
// the tests that it has read are kept in read.
func requireTest(t *testing.T, read map[string]string, of, test string) {
	t.Helper()
	if _, known := read[of]; !known {
		files, err := filepath.Glob(filepath.Join(of, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			read[of] += string(text)
		}
	}
	name, _, _ := strings.Cut(test, "/")
	require.True(t, strings.Contains(read[of], "func "+name+"(t *testing.T)"), "%s has no test %s", of, name)
}

// texts returns the files that have changed, by their names from the root.
func (m mutant) texts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, c := range m.changes {
		text, changed := texts[c.file]
		if !changed {
			original, err := os.ReadFile(filepath.Join(root, c.file))
			require.NoError(t, err)
			text = string(original)
		}
		require.Equal(t, 1, strings.Count(text, c.old), "%s must have this text once:\n%s", c.file, c.old)
		texts[c.file] = strings.Replace(text, c.old, c.new, 1)
	}
	return texts
}

// limit is for the hunt of one mutant, on a machine that may be busy.
const limit = 9 * time.Minute

var (
	verdict   = regexp.MustCompile(`seed \d+: (.*)`)
	simulated = regexp.MustCompile(`(\d+) seeds in`)
)

// hunt simulates until a promise is broken, and tells when and which.
// One processor is enough: mutants are hunted side by side.
func (m mutant) hunt(t *testing.T, b binaries) string {
	var of string
	if kind, rare := focus[m.name]; rare {
		of = kind.String()
	}
	cmd := b.of(t, m, "-test.run", "^TestSimulation$", "-test.v", "-test.timeout", limit.String(), "-test.cpu", "1",
		"-seeds", fmt.Sprint(*seeds), "-focus", of)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	if err == nil {
		t.Errorf("%d programs did not notice", *seeds)
		return "NOT FOUND"
	}
	if bytes.Contains(out, []byte("panic: test timed out")) {
		t.Errorf("no program noticed within %v", limit)
		return "TOO SLOW"
	}
	reason, count := "crashed", "?"
	if m := verdict.FindSubmatch(out); m != nil {
		reason = string(m[1])
	}
	if m := simulated.FindSubmatch(out); m != nil {
		count = string(m[1])
	}
	return fmt.Sprintf("%6s  %s", count, reason)
}
