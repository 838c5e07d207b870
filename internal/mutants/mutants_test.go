package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seeds  = flag.Int("seeds", 30_000, "how many programs may be simulated until a mutant has to be found")
	rounds = flag.Int("rounds", 1, "how often each mutant has to be found, by other programs each time")
)

// root is the directory of the module.
const root = "../.."

func TestTheSimulationFindsEveryMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates thousands of programs")
	}
	table := make([]string, len(all))
	t.Run("mutants", func(t *testing.T) {
		for i, m := range all {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				binary := m.build(t, root+"/internal/sim")
				for round := range *rounds {
					start := time.Now()
					found := m.hunt(t, binary, round)
					table[i] += fmt.Sprintf("%-55s %s, %v\n", m.name, found, time.Since(start).Round(time.Second))
				}
			})
		}
	})
	t.Logf("mutant, seeds until it was found, what gave it away:\n%s", strings.Join(table, ""))
}

// A change of the library may take the place away that a mutant is to change.
func TestTheMutantsChangeTextsThatOccurOnce(t *testing.T) {
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) { m.overlay(t) })
	}
	for _, m := range ofTheLibrary {
		t.Run(m.name, func(t *testing.T) { m.overlay(t) })
	}
	for _, m := range ofTheCommand {
		t.Run(m.name, func(t *testing.T) { m.overlay(t) })
	}
}

// build compiles the tests of the package in that directory, with the mutant.
func (m mutant) build(t *testing.T, of string) (binary string) {
	binary = filepath.Join(t.TempDir(), "mutant.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", m.overlay(t), "-o", binary, of).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// overlay writes the files that have changed, and returns what leads the go command to
// them.
func (m mutant) overlay(t *testing.T) (file string) {
	dir := t.TempDir()
	overlay := map[string]string{}
	for _, c := range m.changes {
		file, err := filepath.Abs(filepath.Join(root, c.file))
		require.NoError(t, err)
		source := file
		if earlier, changed := overlay[file]; changed {
			source = earlier
		}
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), c.old), "%s must have this text once:\n%s", c.file, c.old)
		overlay[file] = filepath.Join(dir, c.file)
		require.NoError(t, os.MkdirAll(filepath.Dir(overlay[file]), 0o700))
		require.NoError(t, os.WriteFile(overlay[file], []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o600))
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, replace, 0o600))
	return file
}

// limit is for the hunt of one mutant, on a machine that may be busy.
const limit = 9 * time.Minute

var (
	verdict   = regexp.MustCompile(`seed \d+: (.*)`)
	simulated = regexp.MustCompile(`(\d+) seeds in`)
)

// hunt simulates until a promise is broken, and tells when and which.
// One processor is enough: mutants are hunted side by side.
func (m mutant) hunt(t *testing.T, binary string, round int) string {
	cmd := exec.Command(binary, "-test.run", "^TestSimulation$", "-test.v", "-test.timeout", limit.String(), "-test.cpu", "1",
		"-seeds", fmt.Sprint(*seeds), "-first", fmt.Sprint(1+round**seeds))
	cmd.Dir = filepath.Join(root, "internal/sim")
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
