package interop

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		os.Exit(runWorker(os.Args[2:]))
	}
	goleak.VerifyTestMain(suite{m})
}

// scratch is a directory for the time of the run.
var scratch string

type suite struct{ *testing.M }

func (s suite) Run() int {
	var err error
	if scratch, err = os.MkdirTemp("", "interop-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(scratch)
	return s.M.Run()
}
