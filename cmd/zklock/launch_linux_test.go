package main_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// slowTool returns a command that makes the file that is its argument, and whose execve takes
// until goOn is called, as on a file server that does not answer: somebody has a lease on it.
func slowTool(t *testing.T) (tool string, awaitExec, goOn func()) {
	t.Helper()
	tool = filepath.Join(t.TempDir(), "tool")
	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\n: >$1\n"), 0o755))
	file, err := os.Open(tool)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	lease := func() int {
		kind, err := unix.FcntlInt(file.Fd(), unix.F_GETLEASE, 0)
		require.NoError(t, err)
		return kind
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("the file system has no leases: %v", err)
	}
	awaitExec = func() { eventually(t, "somebody executes it", func() bool { return lease() != unix.F_WRLCK }) }
	return tool, awaitExec, func() { file.Close() }
}

func TestACommandThatIsNotExecutedYetHeedsALossAndSignals(t *testing.T) {
	for name, c := range map[string]struct {
		flag string
		end  func(at *site, p *process)
		code int
	}{
		"a lost lock":                 {"-v", func(at *site, _ *process) { at.killSession() }, 76},
		"a lost lock that is ignored": {"--on-lost=ignore", func(at *site, p *process) { at.killSession(); p.signal(syscall.SIGHUP) }, 129},
		"a signal":                    {"-v", func(_ *site, p *process) { p.signal(syscall.SIGHUP) }, 129},
		"a signal for the command":    {"-v", func(_ *site, p *process) { p.signal(syscall.SIGUSR1) }, 138},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			tool, awaitExec, _ := slowTool(t)
			made := filepath.Join(t.TempDir(), "made")
			p := at.run(c.flag, "--kill-after=1h", "--", tool, made)
			awaitExec()
			c.end(at, p)
			require.Equal(t, c.code, p.exit())
			require.NoFileExists(t, made)
		})
	}
}

// Go's runtime takes the processor from no thread that forks, and its collector waits for it.
func TestWhoeverWaitsForExecveLeavesAProcessorToTheOthers(t *testing.T) {
	at := newSite(t)
	tool, awaitExec, _ := slowTool(t)
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("GOGC", "1") // garbage is collected all the time
	p := at.run("--", tool, filepath.Join(t.TempDir(), "made"))
	awaitExec()
	at.killSession()
	select {
	case <-p.exited:
	case <-time.After(patience / 3): // longer than --kill-after
		require.Fail(t, "waiting for the end")
	}
}

func TestACommandWhoseExecutionTakesItsTimeRunsWhenItHasCome(t *testing.T) {
	at := newSite(t)
	tool, awaitExec, goOn := slowTool(t)
	made := filepath.Join(t.TempDir(), "made")
	p := at.run("--", tool, made)
	awaitExec()
	p.signal(syscall.SIGWINCH)
	goOn()
	require.Zero(t, p.exit())
	require.FileExists(t, made)
}

func TestACommandThatIsNotExecutedYetEndsWithEitherProcess(t *testing.T) {
	for name, kill := range map[string]func(at *site, p *process){
		"the first": func(at *site, p *process) {
			p.signal(syscall.SIGKILL)
			at.awaitQueue(0) // the second has ended
		},
		"the second": func(_ *site, p *process) {
			killKeeper(p)
			require.Equal(t, 76, p.exit())
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			tool, awaitExec, goOn := slowTool(t)
			made := filepath.Join(t.TempDir(), "made")
			p := at.run("--", tool, made)
			awaitExec()
			kill(at, p)
			goOn()
			require.NoFileExists(t, made)
		})
	}
}
