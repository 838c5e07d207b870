package main_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// orphan is a shell command that leaves a grandchild without a parent behind, in the
// process group, which says its process id, repeats what it reads, and ends at the
// end of input.
const orphan = `exec 3<&0; (sh -c 'echo $$; exec cat' <&3 &); `

func TestTheLockIsKeptUntilTheWholeProcessGroupIsGone(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("-v", "--", "sh", "-c", orphan+"exit 5")
	p.line()
	eventually(t, "the command to end", func() bool {
		return strings.Contains(p.stderr.String(), "its process group has not")
	})
	require.Equal(t, 75, at.run("-n", "--", "true").exit(), "the grandchild lives")
	p.say("still here")
	require.Equal(t, "still here", p.line())
	p.stdin.Close()
	require.Equal(t, 5, p.exit(), "the exit code is the command's")
	require.Empty(t, at.queue(), "the lock is given back before zklock ends")
}

func TestAProcessThatLeavesTheGroupIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	// One reader at a time: cat would take the line that read waits for.
	p := at.run("--", "sh", "-c", `exec 3<&0 4>&1 >/dev/null; read x; (setsid sh -c 'echo $$ >&4; exec cat' <&3 &); exit 4`)
	p.say("")
	pid := p.pid()
	eventually(t, "the lock", func() bool { return len(at.queue()) == 0 })
	require.True(t, alive(pid), "it goes on without the lock")
	p.stdin.Close()
	require.Equal(t, 4, p.exit())
}

func TestAGrandchildIsSignalledWithItsGroup(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", orphan+"cat")
	pid := p.pid()
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit())
	require.False(t, alive(pid))
	require.Empty(t, at.queue())
}

func TestAStrayOfTheCommandsSessionKeepsTheLock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	// timeout puts itself into a process group of its own.
	p := at.run("--", "sh", "-c", `exec 3<&0; timeout 1000 sh -c 'echo $$; exec cat' <&3 & wait`)
	stray := p.pid()
	p.signal(syscall.SIGTERM) // ends the shell alone
	require.Equal(t, 75, at.run("-w", "1s", "--", "true").exit())
	require.True(t, alive(stray))
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit())
	require.False(t, alive(stray))
	require.Empty(t, at.queue())
}

func TestAKilledZklockTakesItsCommandAlongAndGivesTheLockBack(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("family", "--session-timeout", "20s", "--kill-after", "100ms")
	command, child := p.family()
	p.signal(syscall.SIGKILL)
	require.Equal(t, "SIGTERM", p.line(), "while the session still has the lock")
	at.awaitQueue(0)
	requireGone(t, command, child)
}

func TestAZklockThatIsKilledWhileItWaitsLeavesTheQueue(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.run("--", "cat")
	at.awaitQueue(1)
	p := at.run("--session-timeout", "20s", "--", "true")
	at.awaitQueue(2)
	p.signal(syscall.SIGKILL)
	p.exit()
	at.awaitQueue(1)
}

func TestTheKeeperOfTheLockCannotBeStopped(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("announce", "--session-timeout", "4s")
	p.line()
	require.NoError(t, syscall.Kill(keeper(p), syscall.SIGSTOP))
	require.Equal(t, 75, at.run("-w", "6s", "--", "true").exit())
	p.signal(syscall.SIGUSR1)
	require.Equal(t, "SIGUSR1", p.line())
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
}

func TestASignalToAllOfUsIsPassedOnOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := startSession(t, at.command(at.runArgs(as("announce")...)...)) // as a service manager starts it
	p.line()
	require.NoError(t, syscall.Kill(keeper(p), syscall.SIGTERM))
	p.signal(syscall.SIGTERM)
	require.Equal(t, "SIGTERM", p.line())
	p.say("on")
	require.Equal(t, "got on", p.line())
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
}

func TestTheKeeperIsNotFoundByTheNameOfZklock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("announce")
	p.line()
	out, err := exec.Command("ps", "-o", "comm=,args=", "-p", strconv.Itoa(keeper(p))).Output()
	require.NoError(t, err)
	name, args, _ := strings.Cut(string(out), " ")
	require.NotContains(t, name, "zklock", "killall -STOP zklock would stop both")
	require.Contains(t, args, "zklock run")
}

func TestAKilledKeeperIsALostLock(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"term": {"--kill-after", "100ms"}, "kill": {"--on-lost", "kill"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			p := at.runChild("family", flags...)
			command, child := p.family()
			killKeeper(p)
			require.Equal(t, 76, p.exit())
			requireGone(t, command, child)
			require.Contains(t, p.stderr.String(), "was killed by SIGKILL")
		})
	}
}

func TestAKeeperThatIsKilledWhileItWaitsHasLostNoLock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.holder()
	p := at.contender()
	at.awaitQueue(2)
	killKeeper(p)
	require.Equal(t, 128+9, p.exit())
	require.Equal(t, "zklock: interrupted by SIGKILL\n", p.stderr.String())
}

// keeper returns the process that zklock run has holding the lock.
func keeper(p *process) int {
	p.t.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(p.cmd.Process.Pid), "-x", "lock-keeper").Output()
	require.NoError(p.t, err)
	return pidIn(p.t, string(out))
}

func killKeeper(p *process) {
	p.t.Helper()
	require.NoError(p.t, syscall.Kill(keeper(p), syscall.SIGKILL))
}

func requireGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.False(t, alive(pid))
	}
}

func TestTheLockIsKeptWhileEachProcessLeavesItsWorkToTheNext(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", `exec 3<&0
		relay() { if [ $1 = 0 ]; then echo ready; exec cat <&3; else relay $(($1 - 1)) & fi; }
		relay 500`)
	require.Equal(t, "ready", p.line())
	require.Equal(t, 75, at.run("-n", "--", "true").exit())
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
}

func TestAKilledKeepersCommandIsGoneBeforeTheServerGivesTheLockAway(t *testing.T) {
	t.Parallel()
	at := newSiteWith(t, map[string]string{"maxSessionTimeout": "6000"})
	p := at.runChild("family", "--session-timeout", "1h")
	command, child := p.family()
	killKeeper(p)
	at.awaitQueue(0)
	requireGone(t, command, child)
	require.Equal(t, 76, p.exit())
}

func TestAKilledKeeperCostsNobodyHisLifeButTheCommand(t *testing.T) {
	t.Parallel()
	for name, orphaned := range map[string]bool{"a child": false, "a grandchild that loses its parent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			const job = `sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! $$; exec >/dev/null 2>&1; wait' </dev/null & `
			shell := exec.Command("sh", append([]string{"-c", job + `read x; exec "$0" "$@"`, zklockBinary}, at.runArgs(append([]string{"--kill-after", "100ms"}, as("announce")...)...)...)...)
			shell.Env = at.command().Env
			p := at.start(shell)
			var child, grandchild int
			_, err := fmt.Sscan(p.line(), &grandchild, &child)
			require.NoError(t, err)
			t.Cleanup(func() {
				_ = syscall.Kill(child, syscall.SIGKILL)
				_ = syscall.Kill(grandchild, syscall.SIGKILL)
			})
			p.say("")
			p.line()
			if orphaned {
				require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
				eventually(t, "its end", func() bool { return !alive(child) })
			}
			killKeeper(p)
			require.Equal(t, 76, p.exit())
			require.Equal(t, !orphaned, alive(child), "the shell's, before it became zklock")
			require.True(t, alive(grandchild), "the same")
		})
	}
}
