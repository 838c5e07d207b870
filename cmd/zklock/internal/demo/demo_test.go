package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock/internal/apachezk"
)

// TestMain is also the main function of the worker processes, which are this
// same executable.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == workerArgument {
		if err := Work(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// workerArgument makes this executable a worker.
const workerArgument = "worker"

func workerCommand(t *testing.T) []string {
	self, err := os.Executable()
	require.NoError(t, err)
	return []string{self, workerArgument}
}

func TestDemoOnRealZooKeeper(t *testing.T) {
	if _, err := apachezk.Find(); err != nil {
		t.Skipf("needs a real ZooKeeper: %v", err)
	}
	demonstrated(t, true)
}

func TestDemoInMemory(t *testing.T) { demonstrated(t, false) }

func demonstrated(t *testing.T, apache bool) {
	var out strings.Builder
	require.NoError(t, Run(t.Context(), &out, Options{Worker: workerCommand(t), Apache: apache}))
	t.Log(out.String())
	assert.Contains(t, out.String(), "is killed there (kill -9)")
	assert.Contains(t, out.String(), "The lock moved on")
	assert.Contains(t, out.String(), "none of 439 with it")
}

func TestWithoutLockIncrementsAreLostAndSaidToBe(t *testing.T) {
	c, err := run(t.Context(), quiet(), workerCommand(t), counterFile(t), jobs(job{Sections: sections}))
	require.NoError(t, err)
	assert.Equal(t, processes*sections, c.made())
	assert.Positive(t, c.lost())
	assert.ErrorContains(t, verdict(quiet(), c, c), "FAIL")
}

func TestKilledWorkerCountsWhatItMade(t *testing.T) {
	crew := []job{{Sections: 5, StayIn: 5}}
	c, err := run(t.Context(), quiet(), workerCommand(t), counterFile(t), crew)
	require.NoError(t, err)
	assert.True(t, c.workers[0].killed)
	assert.Equal(t, 4, c.made())
	assert.Zero(t, c.lost())
}

func TestFailingWorkerEndsTheOthers(t *testing.T) {
	endless := job{Sections: 1 << 30}
	failing := job{Servers: []string{"127.0.0.1:1"}, Timeout: -1}
	_, err := run(t.Context(), quiet(), workerCommand(t), counterFile(t), []job{endless, failing})
	assert.ErrorContains(t, err, "process 2")
}

func TestInterruptedDemoLeavesNoProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := run(ctx, quiet(), workerCommand(t), counterFile(t), jobs(job{Sections: 1 << 30}))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestVerdict(t *testing.T) {
	crewOf := func(made, counter int) *crew {
		return &crew{workers: []*worker{{values: make([]int, made)}}, counter: counter}
	}
	assert.NoError(t, verdict(quiet(), crewOf(10, 7), crewOf(10, 10)))
	assert.ErrorContains(t, verdict(quiet(), crewOf(10, 7), crewOf(10, 9)), "1 of 10")
	assert.ErrorContains(t, verdict(quiet(), crewOf(10, 7), crewOf(10, 11)), "FAIL")
	assert.ErrorContains(t, verdict(quiet(), crewOf(10, 10), crewOf(10, 10)), "no verdict")
}

func TestHandOvers(t *testing.T) {
	c := &crew{counter: 6, workers: []*worker{{values: []int{1, 2, 5}}, {values: []int{3, 4, 6}}, {}}}
	assert.Equal(t, 3, c.handOvers())
}

func quiet() *screen { return &screen{out: &strings.Builder{}} }

func counterFile(t *testing.T) string { return filepath.Join(t.TempDir(), "counter") }
