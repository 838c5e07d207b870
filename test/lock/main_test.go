// Package lock_test has what the locks promise, in memory, in virtual time, and on a real server.
package lock_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		os.Exit(runChild(job))
	}
	if addr := os.Getenv(stoppedJob); addr != "" {
		os.Exit(runStopped(addr))
	}
	goleak.VerifyTestMain(suite{m})
}

// suite stops the shared server when all tests have run, before goleak looks.
type suite struct{ *testing.M }

func (s suite) Run() int {
	defer stopSharedServer()
	return s.M.Run()
}
