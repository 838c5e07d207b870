package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// zklockBinary is the command, built for these tests.
var zklockBinary string

// TestMain builds the command. This executable is also the program that the
// command runs in some of the tests.
func TestMain(m *testing.M) {
	if job := os.Getenv(childVariable); job != "" {
		os.Exit(runChild(job))
	}
	goleak.VerifyTestMain(suite{m})
}

type suite struct{ *testing.M }

func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "zklock-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	zklockBinary = filepath.Join(dir, "zklock")
	build := exec.Command("go", "build", "-o", zklockBinary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	defer stopSharedServer()
	return s.M.Run()
}
