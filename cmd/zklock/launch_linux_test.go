package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// slow makes the execve of the file take until goOn is called, as on a file server that does
// not answer: somebody has a lease on it.
func slow(t *testing.T, path string) (awaitExec, goOn func()) {
	t.Helper()
	file, err := os.Open(path)
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
	return func() { eventually(t, "somebody executes it", func() bool { return lease() != unix.F_WRLCK }) }, func() { file.Close() }
}

// slowTool returns a command that makes the file that is its argument, and is slow.
func slowTool(t *testing.T) (tool string, awaitExec, goOn func()) {
	t.Helper()
	tool = filepath.Join(t.TempDir(), "tool")
	require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\n: >$1\n"), 0o755))
	awaitExec, goOn = slow(t, tool)
	return tool, awaitExec, goOn
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
	for name, always := range map[string]string{"GOGC": "1", "GOMEMLIMIT": "1MiB"} { // garbage is collected all the time
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			tool, awaitExec, _ := slowTool(t)
			t.Setenv("GOMAXPROCS", "1")
			t.Setenv(name, always)
			p := at.run("--", tool, filepath.Join(t.TempDir(), "made"))
			awaitExec()
			at.killSession()
			select {
			case <-p.exited:
			case <-time.After(*patience / 3): // longer than --kill-after
				require.Fail(t, "waiting for the end")
			}
		})
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

// childOf returns the only child of a process, be it executed yet or not.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	require.NoError(t, err)
	return pidIn(t, string(out))
}

// It has the terminal already, and nobody else would continue it.
func TestACommandThatIsStoppedBeforeItIsExecutedGoesOn(t *testing.T) {
	at := newSite(t)
	tool, awaitExec, goOn := slowTool(t)
	made := filepath.Join(t.TempDir(), "made")
	p := at.run("--", tool, made)
	awaitExec()
	stop(t, childOf(t, keeper(p)))
	goOn()
	require.Zero(t, p.exit())
	require.FileExists(t, made)
}

// stop returns when the process has been stopped, be it continued since.
func stop(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, "the stop", func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return err == nil && !bytes.Contains(status, []byte("ShdPnd:\t0000000000040000"))
	})
}

// Until it is executed the command has the keeper's end of the connection to the first.
func TestTheFirstProcessDoesNotWaitForACommandThatIsNotExecutedYet(t *testing.T) {
	for name, c := range map[string]struct {
		flag    string
		forLoss func(p *process, newborn int)
	}{
		"that is stopped":            {"--on-lost=term", func(_ *process, newborn int) { stop(t, newborn) }},
		"that outlives the lock":     {"--on-lost=ignore", func(p *process, _ int) { p.signal(syscall.SIGTERM) }},
		"that is told to end anyhow": {"--on-lost=term", func(*process, int) {}},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			tool, awaitExec, _ := slowTool(t)
			made := filepath.Join(t.TempDir(), "made")
			p := at.run(c.flag, "--", tool, made)
			awaitExec()
			keeper := keeper(p)
			newborn := childOf(t, keeper)
			if c.flag == "--on-lost=term" {
				c.forLoss(p, newborn)
			}
			require.NoError(t, syscall.Kill(keeper, syscall.SIGKILL))
			if c.flag == "--on-lost=ignore" {
				eventually(t, "the end of the keeper", func() bool { return syscall.Kill(keeper, 0) != nil })
				c.forLoss(p, newborn)
			}
			require.Equal(t, 76, p.exit())
			require.NoFileExists(t, made)
		})
	}
}

func TestAKeeperThatIsNotExecutedYetIsLookedAfter(t *testing.T) {
	for name, c := range map[string]struct {
		sent syscall.Signal // to the keeper
		code int
	}{
		"it is killed":          {syscall.SIGKILL, 137},
		"it is stopped":         {syscall.SIGSTOP, 0},
		"a signal to the first": {0, 143},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			path := filepath.Join(t.TempDir(), "zklock")
			require.NoError(t, os.Link(zklockBinary, path))
			executable, err := os.Open(path)
			require.NoError(t, err)
			defer executable.Close()
			require.NoError(t, os.Remove(path)) // the keeper is another
			require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec "+zklockBinary+` "$@"`), 0o755))
			awaitExec, goOn := slow(t, path)
			front := at.command(at.runArgs("--", "true")...)
			front.Path, front.ExtraFiles = "/proc/self/fd/3", []*os.File{executable}
			p := at.start(front)
			awaitExec()
			newborn := childOf(t, p.cmd.Process.Pid)
			switch c.sent {
			case 0:
				p.signal(syscall.SIGTERM)
			case syscall.SIGSTOP:
				stop(t, newborn)
				goOn()
			default:
				require.NoError(t, syscall.Kill(newborn, c.sent))
			}
			require.Equal(t, c.code, p.exit())
		})
	}
}
