package main_test

import (
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
	pid, err := strconv.Atoi(p.line())
	require.NoError(t, err)
	eventually(t, "the lock", func() bool { return len(at.queue()) == 0 })
	require.True(t, alive(pid), "it goes on without the lock")
	p.stdin.Close()
	require.Equal(t, 4, p.exit())
}

func TestAGrandchildIsSignalledWithItsGroup(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", orphan+"cat")
	pid, err := strconv.Atoi(p.line())
	require.NoError(t, err)
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit())
	require.False(t, alive(pid))
	require.Empty(t, at.queue())
}

func TestAKilledZklockTakesItsCommandAlong(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run(append([]string{"--session-timeout", "4s"}, as("announce")...)...)
	p.line()
	p.signal(syscall.SIGKILL)
	require.Equal(t, "SIGTERM", p.line(), "while the session still has the lock")
	at.awaitQueue(0)
}
