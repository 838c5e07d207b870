// Package touched counts the functions of the library that one call runs through.
package touched

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/zklock/zklock"
	call   = module + "/test/touched/call"
)

// Who wants to understand a call has to read what it runs through, in the background too. Timers
// and pings add to it by chance, so the least of some runs counts.
func TestACallRunsThroughNoMoreThanThat(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Setenv("GOCOVERDIR", t.TempDir()) // for the program's whole life, which nobody reads
	program := filepath.Join(t.TempDir(), "call")
	output(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+","+module+"/internal/...,"+call, "-o", program, "./call")
	for call, most := range map[string]int{"free": 230, "contended": 350, "loss": 300} {
		t.Run(call, func(t *testing.T) {
			functions, files := math.MaxInt, 0
			for range 5 {
				if n, of := touched(t, program, call); n < functions {
					functions, files = n, of
				}
			}
			t.Logf("%s: %d functions in %d files", call, functions, files)
			require.LessOrEqual(t, functions, most, "one call touches more than it did")
		})
	}
}

// touched counts the functions, and their files, that ran during a call.
func touched(t *testing.T, program, of string) (functions, files int) {
	t.Helper()
	counters, blocks := t.TempDir(), filepath.Join(t.TempDir(), "blocks")
	output(t, program, of, counters)
	output(t, "go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+blocks)
	seen := map[string]bool{}
	for line := range strings.Lines(output(t, "go", "tool", "cover", "-func="+blocks)) {
		words := strings.Fields(line) // file:line: function share
		if strings.HasPrefix(line, call) || words[0] == "total:" || words[2] == "0.0%" {
			continue
		}
		functions++
		file, _, _ := strings.Cut(words[0], ":")
		seen[file] = true
	}
	return functions, len(seen)
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %q", name, args)
	return string(out)
}
