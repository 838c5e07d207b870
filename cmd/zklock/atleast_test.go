package main_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keeper runs a command with a lock that is kept for an hour, and returns when the command is
// over.
func (at *site) keeper(args ...string) *process {
	at.t.Helper()
	p := at.run(append([]string{"-v", "--hold-at-least", "1h"}, args...)...)
	require.Equal(at.t, "ran", p.line())
	p.awaitMessage("the command has ended: the lock is kept")
	return p
}

// Whoever comes while the lock is kept finds it taken, also when the command is over.
func TestAJobThatIsShorterThanTheClocksDifferRunsOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	skipping := []string{"--nonblock", "-E", "0", "--hold-at-least", "1h", "--", "sh", "-c", "sleep 0.01; echo ran; exit 3"}
	first := at.keeper(skipping...)
	for _, after := range []time.Duration{800 * time.Millisecond, 700 * time.Millisecond} {
		time.Sleep(after) // by which its clock differs
		late := at.run(skipping...)
		require.Equal(t, 0, late.exit())
		require.Empty(t, late.rest())
		require.Empty(t, late.stderr.String(), "cron sends mail for what is said")
	}
	require.True(t, alive(first.cmd.Process.Pid))
	require.Contains(t, at.zklock("status", at.path).rest()[1], "holds  exclusive")
	first.signal(syscall.SIGTERM)
	require.Equal(t, 3, first.exit(), "the command's")
	require.Empty(t, at.queue(), "the signal gives it back")
}

func TestTheLockIsKeptForAsLongAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	for _, flags := range [][]string{nil, {"--shared"}, {"--limit", "2"}} {
		began := time.Now()
		require.Equal(t, 0, at.run(append(flags, "--hold-at-least", "700ms", "--", "true")...).exit())
		require.GreaterOrEqual(t, time.Since(began), 700*time.Millisecond)
	}
	// One that takes longer pays nothing, nor does one that has not run.
	require.Equal(t, 0, at.run("--hold-at-least", "0.1", "--", "sleep", "0.2").exit())
	require.Equal(t, 127, at.run("--hold-at-least", "1h", "--", "no-such-command").exit())
}

func TestALockThatIsLostWhileItIsKeptLeavesTheExitCode(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.keeper("--", "sh", "-c", "echo ran; exit 4")
	node, _ := at.node()
	require.NoError(t, at.conn.Delete(node, -1))
	require.Equal(t, 4, p.exit())
}

// The command is over, and what it has come to is known. The lock goes with the keeper's session.
func TestAKeeperThatIsKilledWhileTheLockIsKeptLeavesTheExitCode(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	for command, code := range map[string]int{"echo ran": 0, "echo ran; exit 3": 3, "echo ran; kill -TERM $$": 128 + 15} {
		p := at.keeper("--session-timeout", "1s", "--", "sh", "-c", command)
		killKeeper(p)
		require.Equal(t, code, p.exit(), command)
		require.Contains(t, p.stderr.String(), "was killed by SIGKILL")
		at.awaitQueue(0)
	}
}

func TestALockIsNotKeptForOneThatWasKilled(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.keeper("--", "echo", "ran")
	p.signal(syscall.SIGKILL)
	at.awaitQueue(0)

	p = at.holder("--hold-at-least", "1h", "--on-lost", "ignore")
	p.signal(syscall.SIGKILL)
	p.awaitMessage("was killed")
	require.NotEmpty(t, at.queue())
	p.stdin.Close()
	at.awaitQueue(0)
}

func TestARequestToGiveBackEndsTheWaitIfItEndsTheCommand(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.keeper("--on-revoke", "term", "--", "echo", "ran")
	require.Equal(t, 0, at.zklock("revoke", at.path).exit())
	require.Equal(t, 0, p.exit())
	require.Empty(t, at.queue())
}

func TestALockThatWasAskedForWhileTheCommandRanIsKeptOnlyIfRequestsAreIgnored(t *testing.T) {
	t.Parallel()
	for does, kept := range map[string]bool{"term": false, "ignore": true} {
		at := newSite(t)
		p := at.run("-v", "--hold-at-least", "1h", "--on-revoke", does, "--", "sh", "-c", "trap exit TERM; echo in; read x")
		p.line()
		require.Equal(t, 0, at.zklock("revoke", at.path).exit())
		p.awaitMessage("somebody asks for the lock back")
		p.stdin.Close()
		if kept {
			p.awaitMessage("the command has ended: the lock is kept")
			p.signal(syscall.SIGTERM)
		}
		p.exit()
		require.Equal(t, kept, strings.Contains(p.stderr.String(), "the lock is kept"), does)
		require.Empty(t, at.queue())
	}
}

// The key that ends the command reaches us as well; the next one is meant for us.
func TestTheKeyThatEndsTheCommandDoesNotGiveTheLockBack(t *testing.T) {
	_, c := onTerminal(t)
	const kept = 2 * time.Second
	began := time.Now()
	c.enter(`zklock run -v --hold-at-least ` + kept.String() + ` $P -- sh -c 'echo "in"; read x'`)
	c.expect("in\r\n")
	c.key(ctrlC)
	c.expect("the command has ended: the lock is kept")
	c.expect(prompt)
	require.GreaterOrEqual(t, time.Since(began), kept)

	c.enter(`zklock run -v --hold-at-least 1h $P -- sh -c 'echo "in"; read x'`)
	c.expect("in\r\n")
	c.key(ctrlC)
	c.expect("the command has ended: the lock is kept")
	c.keyUntil(ctrlC, prompt)
}
