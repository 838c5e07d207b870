package main_test

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

func TestALostSessionEndsTheCommand(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", orphan+"exec sleep 1000")
	grandchild := p.pid()
	at.killSession()
	require.Equal(t, 76, p.exit())
	require.False(t, alive(grandchild), "with its whole group")
	require.Contains(t, p.stderr.String(), "zklock: run "+at.path+": the lock was lost")
}

func TestTheExitCodeOfALossCanBeChosen(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--lost-exit-code", "42", "--", "sh", "-c", `trap 'exit 0' TERM; echo ready; read x`)
	p.line()
	at.killSession()
	require.Equal(t, 42, p.exit(), "whatever the command makes of its end")
}

func TestACommandThatDoesNotEndAfterALossIsKilled(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("family", "--kill-after", "100ms")
	_, grandchild := p.family()
	at.killSession()
	require.Equal(t, "SIGTERM", p.line(), "first it is asked")
	require.Equal(t, 76, p.exit())
	require.False(t, alive(grandchild))
	require.Contains(t, p.stderr.String(), "killing what is left")
}

func TestAnOrphanedGrandchildIsKilledAfterALossToo(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("family", "-v", "--kill-after", "100ms")
	_, grandchild := p.family()
	p.signal(syscall.SIGUSR1) // the command ends, its child announces it
	require.Equal(t, "SIGUSR1", p.line())
	eventually(t, "the command to end", func() bool {
		return strings.Contains(p.stderr.String(), "its process group has not")
	})
	at.killSession()
	require.Equal(t, "SIGTERM", p.line())
	require.Equal(t, 76, p.exit())
	require.False(t, alive(grandchild))
}

func TestACommandThatHasLeftItsGroupIsEndedToo(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("defector", "--kill-after", "100ms")
	p.line()
	p.signal(syscall.SIGUSR1)
	require.Equal(t, "SIGUSR1", p.line())
	at.killSession()
	require.Equal(t, "SIGTERM", p.line())
	require.Equal(t, 76, p.exit())
}

func TestNothingOfARunInsideARunOutlivesTheOuterLock(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"killed at once": {"--on-lost", "kill"},
		"killed later":   {"--kill-after", "100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			inner := append([]string{"--", zklockBinary, "run", "--on-lost=ignore", at.path + "-inner"}, as("announce")...)
			p := at.run(append(flags, inner...)...)
			command := p.pid()
			at.killSession()
			require.Equal(t, 76, p.exit())
			require.False(t, alive(command), "it is deaf to SIGTERM, and in a process group of its own")
		})
	}
}

func TestADaemonOfTheCommandEndsWithALostLock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--kill-after", "100ms", "--", "sh", "-c", `(trap "" TERM; setsid sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000`)
	daemon := p.pid()
	at.killSession()
	require.Equal(t, 76, p.exit())
	require.False(t, alive(daemon))
}

// What runs under timeout is in a process group of its own, and its parent ends by the signal.
func TestWhoLosesTheParentAfterALossIsToldToEndToo(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--kill-after", "1h", "--", "sh", "-c",
		`timeout 1000 sh -c 'trap "echo heard; exit" TERM; sleep 1000 & echo in; wait'; true`)
	require.Equal(t, "in", p.line())
	at.killSession()
	require.Equal(t, "heard", p.line())
	require.Equal(t, 76, p.exit())
}

// The command is ended with its keeper, before the first process has looked at it.
func TestADaemonOfTheCommandEndsWithAKilledKeeper(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--kill-after", "100ms", "--", "setsid", "-w", "sh", "-c", "echo $$; exec sleep 1000 >/dev/null 2>&1")
	daemon := p.pid()
	t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGKILL) })
	killKeeper(p)
	require.Equal(t, 76, p.exit())
	require.False(t, alive(daemon))
}

func TestALostLockIsNotSaidToBeKept(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*site, *process){
		"the session has ended": func(at *site, _ *process) { at.killSession() },
		"the keeper is killed":  func(_ *site, p *process) { killKeeper(p) },
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			p := at.run("-v", "--kill-after", "100ms", "--", "sh", "-c", `(trap "" TERM; exec sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &); exec sleep 1000`)
			p.pid()
			lose(at, p)
			require.Equal(t, 76, p.exit())
			require.NotContains(t, p.stderr.String(), "the lock is kept")
		})
	}
}

func TestAZombieKeepsNoLockAndNobodyFromEnding(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]bool{"when the command ends": false, "when the lock is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			p := at.run("--", "sh", "-c", `exec 3<&0; (exec env `+childVariable+`=careless "$0" <&3 &); exec sleep 1000`, os.Args[0])
			zombie := p.pid()
			eventually(t, "the zombie", func() bool { return stateOf(zombie) == 'Z' })
			if lose {
				at.killSession()
				require.Equal(t, 76, p.exit())
				return
			}
			p.signal(syscall.SIGTERM)
			at.awaitQueue(0)
			require.Equal(t, byte('Z'), stateOf(zombie))
			p.stdin.Close()
			require.Equal(t, 128+15, p.exit())
		})
	}
}

func TestALostLockKillsAtOnceIfToldTo(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("announce", "--on-lost", "kill")
	p.line()
	at.killSession()
	require.Equal(t, 76, p.exit())
	require.Empty(t, p.rest(), "it was not asked")
}

func TestALostLockIsIgnoredIfToldTo(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--on-lost", "ignore", "--", "sh", "-c", `echo ready; read x; echo "got $x"; exit 5`)
	p.line()
	at.killSession()
	p.awaitMessage("lost")
	p.say("on")
	require.Equal(t, "got on", p.line())
	require.Equal(t, 5, p.exit())
}

func TestTheCommandIsGoneBeforeTheServerGivesTheLockAway(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	link := faultproxy.Run(t, at.addr)
	p := at.runChild("announce", "--servers", link.Addr(), "--session-timeout", "12s")
	p.line()
	link.Drop(faultproxy.Both)
	require.Equal(t, "SIGTERM", p.line())
	require.Len(t, at.queue(), 1, "the server still has the session")
	require.Equal(t, 76, p.exit(), "it ignored SIGTERM, and was killed a quarter of the session timeout later")
	require.Len(t, at.queue(), 1, "the server still has the session")
	at.awaitQueue(0)
}

func TestAnInterruptedConnectionIsNotALoss(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	link := faultproxy.Run(t, at.addr)
	p := at.runChild("announce", "--servers", link.Addr(), "-v")
	p.line()
	p.mute(func() {
		reconnect(t, link)
		require.Len(t, at.queue(), 1)
	})
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
	require.Empty(t, at.queue())
}

func TestAFullPipeKeepsNobodyFromEndingTheCommand(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	out, in, err := os.Pipe() // of which nobody reads
	require.NoError(t, err)
	defer out.Close()
	require.NoError(t, in.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = in.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the pipe is full")
	cmd := at.command(at.runArgs("-vv", "--", "sh", "-c", "echo $$ >&3; exec yes")...)
	said, pid, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = in, in, []*os.File{pid}
	p := at.start(cmd)
	in.Close()
	pid.Close()
	text := make([]byte, 20)
	n, err := said.Read(text)
	require.NoError(t, err)
	child := pidIn(t, string(text[:n]))
	at.killSession()
	require.Equal(t, 76, p.exit())
	require.False(t, alive(child))
}

func TestAClosedPipeEndsNobodyButWhoWritesToIt(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	out.Close()
	cmd := at.command(at.runArgs("-vv", "--", "sh", "-c", `read x; echo "got $x" >&3; yes; echo $? >&3`)...)
	said, tell, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = in, in, []*os.File{tell}
	p := at.start(cmd)
	in.Close()
	tell.Close()
	p.say("on")
	require.Equal(t, 0, p.exit())
	text, err := io.ReadAll(said)
	require.NoError(t, err)
	require.Equal(t, "got on\n"+strconv.Itoa(128+int(syscall.SIGPIPE))+"\n", string(text))
}

func TestMessagesCanBeJSON(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("-v", "--log-format", "json", "--", "sh", "-c", "echo ready; read x")
	p.line()
	at.killSession()
	require.Equal(t, 76, p.exit())
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	var last map[string]any
	for _, line := range lines {
		last = nil
		require.NoError(t, json.Unmarshal([]byte(line), &last), line)
		require.NotEmpty(t, last["msg"])
	}
	require.Equal(t, "run "+at.path+": the lock was lost before the command had ended", last["msg"])
	require.InDelta(t, 76, last["exit_code"], 0)
	require.Greater(t, len(lines), 3)
}
