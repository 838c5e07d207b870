package mutants

import (
	"bytes"
	"context"
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

// build compiles the tests of the package in that directory of the module. It is nil if there
// are none.
func build(t *testing.T, directory string, flags ...string) *tests {
	t.Helper()
	b := &tests{of: directory, binary: filepath.Join(t.TempDir(), "judge.test")}
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", b.binary}, flags...)
	compile := exec.Command("go", append(args, ".")...)
	compile.Dir = b.directory()
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return b
}

// tests are those of one package, as a binary.
type tests struct{ of, binary string }

func (b *tests) directory() string { return filepath.Join(root, b.of) }

// run is what became of tests.
type run struct {
	passed, hung bool
	output       string
	took         time.Duration
	work         time.Duration // of a processor, which is the same on a busy machine
}

// limits are what tests may use up: a mutant may ask for more and more, or never end.
type limits struct{ took, work time.Duration }

const memory = 12 << 20 // that tests may have, in KiB

// run runs tests with a mutant, none if its number is 0. A binary that does not end by itself
// within the limits hangs.
func (b *tests) run(mutant int, l limits, args ...string) run {
	ctx, cancel := context.WithTimeout(context.Background(), l.took+10*time.Second)
	defer cancel()
	shell := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, memory, int(l.work.Seconds())+1)
	args = append([]string{"-c", shell, b.binary, "-test.timeout", l.took.String()}, args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = b.directory()
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosen, mutant))
	if !*servers {
		cmd.Env = append(cmd.Env, withoutServers)
	}
	out := new(tail)
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	err := cmd.Run()
	r := run{passed: err == nil, output: out.String(), took: time.Since(began)}
	if cmd.ProcessState != nil {
		r.work = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	ended := err != nil && strings.HasPrefix(err.Error(), "signal: ") || strings.Contains(r.output, "panic: test timed out")
	r.hung = ended && !r.passed
	return r
}

// only is the argument by which a binary runs just these tests.
func only(names ...string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return "-test.run=^(" + strings.Join(quoted, "|") + ")$"
}

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

const tailLength = 256 << 10

func (w *tail) Write(p []byte) (int, error) {
	if w.Len() > 4*tailLength {
		w.Next(w.Len() - tailLength)
	}
	return w.Buffer.Write(p)
}
