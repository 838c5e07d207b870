package main_test

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newContainer is newConsole for a script that is the first process of a container, with
// a terminal (docker run -it).
func newContainer(at *site, script string) *console {
	shell := exec.Command("sh", "-c", "mount -t proc proc /proc || exit; "+script)
	return newConsoleOf(at, shell, &syscall.SysProcAttr{
		Setsid: true, Setctty: true, Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS,
	})
}

// There its first process, which is not the command's, is the parent of whom the command leaves.
func TestAProcessThatTheCommandLeavesInAnotherPIDNamespaceKeepsTheLock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	first := exec.Command("sleep", "1000")
	first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, first.Start())
	t.Cleanup(func() {
		_ = first.Process.Kill()
		_ = first.Wait()
	})
	p := at.run("--", "nsenter", "-p", "-t", strconv.Itoa(first.Process.Pid), "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo left")
	require.Equal(t, "left", p.line())
	select {
	case <-p.exited:
		require.Fail(t, "the lock is given back")
	case <-time.After(time.Second): // it took a few ms
	}
	require.Equal(t, 75, at.run("-n", "--", "true").exit())
	require.NoError(t, first.Process.Kill()) // and the kernel whoever is there
	require.Equal(t, 0, p.exit(), "%s", p.stderr)
}

// The group of a container's first process has the number 1, and to signal -1 is to signal
// everybody.
func TestAKeyInAContainerReachesNobodyButTheJob(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	c := newContainer(at, `
		trap "echo trapped" INT
		setsid -f sleep 1000
		zklock run $P -- sh -c 'echo "in"; read x; echo "got:$x"; read x'
		echo "code:$?"
		pgrep sleep >/dev/null && echo "the other lives"`)
	c.expect("in\r\n")
	c.enter("a line")
	c.expect("got:a line") // so that it has the terminal
	c.key(ctrlC)
	c.expect("trapped") // by the script, which is of the job
	c.expect("code:130")
	c.expect("the other lives")
}

// With hidepid nobody sees the processes of other users.
func TestAJobInTheBackgroundStopsThoughItsLeaderCannotBeSeen(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	const asNobody = "runuser -u nobody -- "
	if err := exec.Command("sh", "-c", asNobody+"test -x "+zklockBinary).Run(); err != nil {
		t.Skipf("it takes root, and a directory for temporary files that others may enter: %v", err)
	}
	c := newContainer(at, "mount -o remount,hidepid=2 /proc && exec bash --norc --noprofile --noediting -i")
	c.expect(prompt)
	c.enter("set -b")
	c.enter(asNobody + `zklock run $P -- sh -c 'echo "in"; read x; echo "got:$x"' &`)
	c.expect("in\r\n")
	c.expect("Stopped")
	c.expect("got:$x")
	c.enter("fg")
	c.expect("runuser")
	c.enter("a line")
	c.expect("got:a line")
}

// The kernel ignores a SIGKILL that the first process of a container sends itself.
func TestASignalThatAbortsEndsTheFirstProcessOfAContainer(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	cmd := at.command(at.runArgs("--", "sh", "-c", "echo in; exec sleep 1000")...)
	p := startIn(t, cmd, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
	require.Equal(t, "in", p.line())
	p.signal(syscall.SIGABRT)
	require.Equal(t, 128+6, p.exit())
}
