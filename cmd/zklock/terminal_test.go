package main_test

import (
	"path"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// onTerminal begins a test of a shell on a terminal.
func onTerminal(t *testing.T) (*site, *console) {
	t.Helper()
	t.Parallel()
	at := newSite(t)
	return at, newConsole(at)
}

func TestOnATerminalTheCommandHasIt(t *testing.T) {
	_, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'echo "in"; read x; echo "got:$x"; exit 3'; echo "code:$?"`)
	c.expect("in\r\n")
	c.enter("a line")
	c.expect("got:a line")
	c.expect("code:3")
	c.expect(prompt)
}

func TestCtrlCEndsTheCommandAndTheScriptItIsIn(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'echo "in"; read x'`)
	c.expect("in\r\n")
	c.key(ctrlC)
	c.expect(prompt)
	c.enter(`echo "code:$?"`)
	c.expect("code:130")
	require.Empty(t, at.queue())
	for _, shell := range []string{"sh", "bash"} {
		c.enter(shell + ` -c 'zklock run $P -- sh -c "echo i\"\"n; read x"; echo "af""ter"'; echo "code:$?"`)
		c.expect("in\r\n")
		c.key(ctrlC)
		c.expect(prompt)
	}
	c.enter(`zklock run $P -- sh -c 'echo "he""ld"; sleep 1000' &`)
	c.expect("held")
	c.enter(`bash -c 'zklock run -v $P -- true; echo "af""ter"'`)
	c.expect("waiting for the lock")
	c.key(ctrlC)
	c.expect("interrupted by SIGINT")
	c.expect(prompt)
	c.enter("kill %1; wait; echo over")
	c.expect("\nover")
	require.NotContains(t, c.said.String(), "after\r\n")
}

// By a signal a program says that a key was not meant for it alone; one that exits has
// dealt with the key, or never had one.
func TestACommandThatExitsAsIfByCtrlCDoesNotEndTheScriptItIsIn(t *testing.T) {
	_, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'exit 130'; echo "af""ter:$?"`)
	c.expect("after:130")
}

func TestCtrlZStopsTheJobAndFgContinuesIt(t *testing.T) {
	_, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'echo "in"; read x; echo "got:$x"'`)
	c.expect("in\r\n")
	c.stopAndGoOn(2)
	c.enter("a line")
	c.expect("got:a line")
	c.expect(prompt)
	c.enter(`echo "code:$?"`)
	c.expect("code:0")
}

func TestARunInsideARunStopsAndGoesOnAsOneJob(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`zklock run $P -- zklock run $P-inner -- sh -c 'echo "in"; read x; echo "got:$x"'`)
	c.expect("in\r\n")
	c.stopAndGoOn(2)
	c.enter("a line")
	c.expect("got:a line")
	c.expect(prompt)
	require.Empty(t, at.queue())
}

func TestAJobInTheBackgroundStopsWhenItReadsAndGoesOnInTheForeground(t *testing.T) {
	_, c := onTerminal(t)
	c.enter("set -b")
	c.enter(`zklock run $P -- sh -c 'echo "in"; read x; echo "got:$x"' &`)
	c.expect("in\r\n")
	c.expect("Stopped") // with set -b the shell tells at once
	c.expect("got:$x")
	c.enter("fg")
	c.expect("zklock run")
	c.enter("a line")
	c.expect("got:a line")
}

func TestACommandThatIsStoppedAloneLeavesTheKeysToUs(t *testing.T) {
	_, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'echo "pid:"$$":"; kill -STOP $$; read x; echo "got:$x"'`)
	c.expect(":\r\n")
	pid := pidIn(t, regexp.MustCompile(`pid:(\d+):`).FindStringSubmatch(c.said.String())[1])
	eventually(t, "the command to stop", func() bool { return isStopped(pid) })
	c.stopAndContinue()
	c.enter("a line")
	c.expect("got:a line")
}

func TestCtrlZStopsNobodyWhereThereIsNoShell(t *testing.T) {
	_, c := onTerminal(t)
	for _, run := range []string{"exec zklock run", "true; zklock run"} {
		c.enter(`script -qec '` + run + ` $P -- sh -c "echo i\"\"n; read x; echo got:\$x"; true' /dev/null`)
		c.expect("in\r\n")
		c.key(ctrlZ)
		c.expect("^Z")
		c.enter("a line")
		c.expect("got:a line")
		c.expect(prompt)
	}
}

// As by the kernel, which stops nothing that no shell would continue, and has it read nothing.
func TestAJobThatNoShellCouldContinueIsHungUpWhenItReads(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`(sh -c 'zklock run $P -- sh -c "read x </dev/tty"; echo "code:$?"' &)`)
	c.expect("code:129")
	require.Empty(t, at.queue())
}

func TestAJobIsHungUpOnceHoweverOftenItReads(t *testing.T) {
	_, c := onTerminal(t)
	c.enter(`(sh -c 'zklock run $P -- sh -c "trap \"n=\\\$((n+1))\" HUP; trap \"test \\\$((m=m+1)) = 3 && echo hung up:\\\$n && exit\" CONT; while true; do read x </dev/tty; done"' &)`)
	c.expect("hung up:1")
}

func TestTheTerminalIsLeftToTheRestOfAPipeline(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'echo go; exec sleep 1000' | sh -c 'read x; echo "i""n"; read x </dev/tty; echo "got:$x"; read x </dev/tty'`)
	c.expect("in\r\n")
	c.enter("a line")
	c.expect("got:a line")
	c.stopAndGoOn(1)
	c.key(ctrlC)
	c.expect(prompt)
	require.NotContains(t, c.said.String(), "tty input")
	at.awaitQueue(0)
}

func TestTheTerminalIsLeftToTheScriptThatRunsUsInTheBackground(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`sh -c 'zklock run $P -- sh -c "echo i\"\"n; exec sleep 1000" & read x </dev/tty; echo "got:$x"; kill $!; wait $!; echo "code:$?"'`)
	c.expect("in\r\n")
	c.enter("a line")
	c.expect("got:a line")
	c.expect("code:143")
	c.expect(prompt)
	require.Empty(t, at.queue())
}

func TestACommandInAScriptHasTheTerminalWhenItReads(t *testing.T) {
	_, c := onTerminal(t)
	c.enter(`sh -c 'zklock run $P -- sh -c "echo i\"\"n; read x; echo got:\$x; read x"; echo "code:$?"'`)
	c.expect("in\r\n")
	c.enter("a line")
	c.expect("got:a line")
	c.stopAndGoOn(2)
	c.enter("another")
	c.expect("code:0")
	c.expect(prompt)
}

func TestTheRestOfAPipelineStopsAndEndsWithTheCommand(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`zklock run $P -- sh -c 'echo "in"; exec sleep 1000' | cat`)
	c.expect("in\r\n")
	c.key(ctrlZ)
	c.expect("Stopped")
	c.expect(prompt)
	c.enter("fg")
	c.expect("zklock run")
	c.key(ctrlC)
	c.expect(prompt)
	require.Empty(t, at.queue())
}

func TestAKilledCommandsTerminalModesAreUndone(t *testing.T) {
	for act, lose := range map[string]func(*site){
		":":             (*site).killSession,
		"kill -9 $PPID": func(*site) {}, // the keeper
	} {
		t.Run(act, func(t *testing.T) {
			at, c := onTerminal(t)
			c.enter(`zklock run --on-lost kill $P -- sh -c 'stty -echo -icanon; echo "in"; ` + act + `; exec sleep 1000'`)
			c.expect("in\r\n")
			lose(at)
			c.expect("the lock was lost")
			c.expect(prompt)
			c.enter(`stty -a | tr ';' '\n' | grep -c -- '-icanon'`)
			c.expect("\n0\r\n")
		})
	}
}

// A shell gives the terminal to each of its jobs.
func TestAScriptHasTheTerminalAfterAShellInItWasKilledWithItsJob(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`sh -c 'zklock run --on-lost kill $P -- bash --norc --noediting -i; echo "code"":$?"; read x; echo "got:$x"'`)
	c.expect(prompt)
	c.enter(`sh -c 'echo "i""n"; exec sleep 1000'`)
	c.expect("in\r\n")
	at.killSession()
	c.expect("code:76")
	c.enter("a line")
	c.expect("got:a line")
	c.expect(prompt)
}

func TestAGrandchildThatStaysBehindKeepsTheTerminalUntilItEnds(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`zklock run -v $P -- env ZKLOCK_TEST_CHILD=family $T`)
	c.expect("ready")
	node, _ := at.node()
	c.key(ctrlC)
	c.expect("SIGINT")
	require.NoError(t, syscall.Kill(-c.foreground(), syscall.SIGUSR1))
	c.expect("its process group has not")
	c.key(ctrlC)
	c.expect("SIGINT")
	require.Equal(t, []string{path.Base(node)}, at.queue())
	c.key(ctrlD)
	c.expect(prompt)
	require.Empty(t, at.queue())
}

// What timeout runs is in a process group of its own.
func TestTheKeysReachWhatIsLeftOfACommandWhenItsGroupIsGone(t *testing.T) {
	at, c := onTerminal(t)
	c.enter(`zklock run -v $P -- sh -c 'timeout 1000 sh -c "echo i\"\"n; exec sleep 1000" & read x'`)
	c.expect("in\r\n")
	command := c.foreground()
	c.enter("")
	c.expect("and what it has started has not")
	eventually(t, "the terminal to change hands", func() bool { return c.foreground() != command })
	c.stopAndGoOn(1)
	c.key(ctrlC)
	c.expect(prompt)
	require.Empty(t, at.queue())
}

// The shell that gave it a group of its own is gone, and nobody continues it when it has read.
func TestTheKeysReachAStoppedJobThatTheCommandHasLeft(t *testing.T) {
	for name, key := range map[string]string{"Ctrl-C": ctrlC, "Ctrl-\\": ctrlBackslash} {
		t.Run(name, func(t *testing.T) {
			at, c := onTerminal(t)
			c.enter(`zklock run -v $P -- bash -c 'ulimit -c 0; set -m; (while kill -0 $$; do :; done 2>/dev/null; read x </dev/tty) & exit 0'; echo "code:$?"`)
			c.expect("and what it has started has not")
			c.expect("]")
			pid := pidIn(t, regexp.MustCompile(`processes=\[(\d+)\]`).FindStringSubmatch(c.said.String())[1])
			eventually(t, "the job to stop", func() bool { return isStopped(pid) })
			eventually(t, "the terminal to change hands", func() bool { return syscall.Kill(-c.foreground(), 0) == nil })
			c.key(key)
			c.expect("code:0")
			require.Empty(t, at.queue())
		})
	}
}
