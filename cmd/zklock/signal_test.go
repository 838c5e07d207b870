package main_test

import (
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/zklock/zklock/internal/faultproxy"
)

func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.runChild("announce")
	p.line()
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH,
	} {
		p.signal(sig)
		require.Equal(t, unix.SignalName(sig), p.line())
	}
	p.stdin.Close()
	require.Equal(t, 0, p.exit(), "a command that survives a signal keeps its exit code")
}

func TestASignalEndsTheWaitForTheLock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	holder := at.run("--", "cat")
	at.awaitQueue(1)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		p := at.run("--", "echo", "it must not run")
		at.awaitQueue(2)
		for _, other := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGCONT} {
			p.signal(other) // which are for the command
		}
		p.signal(sig)
		require.Equal(t, 128+int(sig), p.exit())
		require.Equal(t, "zklock: interrupted by "+unix.SignalName(sig)+"\n", p.stderr.String())
		require.Empty(t, p.rest())
		require.Len(t, at.queue(), 1, "it has left the queue")
	}
	holder.stdin.Close()
	require.Equal(t, 0, holder.exit())
}

func TestASignalThatWasIgnoredStaysIgnored(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	args := at.runArgs("--", "sh", "-c", `echo ready; read x; echo "got $x"`)
	cmd := at.command()
	nohup := exec.Command("sh", append([]string{"-c", `trap '' HUP; exec "$0" "$@"`, zklockBinary}, args...)...)
	nohup.Env = cmd.Env
	p := at.start(nohup)
	require.Equal(t, "ready", p.line())
	p.signal(syscall.SIGHUP)
	node, _ := at.node()
	require.NotEmpty(t, node)
	p.say("on")
	require.Equal(t, "got on", p.line())
	require.Equal(t, 0, p.exit())
}

func TestWhateverStopsUsStopsTheCommandAndKeepsTheLock(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			link := faultproxy.Run(t, at.addr)
			var proofs atomic.Int64
			link.OnRequest(func(op int32, _ []byte) {
				if op == faultproxy.OpMulti {
					proofs.Add(1)
				}
			})
			p := at.runChild("family", "--servers", link.Addr(), "--session-timeout", "16s")
			command, child := p.family()
			for range 2 {
				p.signal(sig)
				p.awaitStop()
				eventually(t, "the command to stop", func() bool { return isStopped(command) && isStopped(child) })
				before := proofs.Load()
				// One may have been on its way, and the next follows the answer to it.
				eventually(t, "the session to be proved alive", func() bool { return proofs.Load() >= before+2 })
				require.Equal(t, 75, at.conflict("-n", "--", "true").exit())
				p.signal(syscall.SIGCONT)
				eventually(t, "the command to go on", func() bool { return !isStopped(command) && !isStopped(child) })
			}
			p.signal(syscall.SIGUSR1)
			require.Equal(t, "SIGUSR1", p.line())
			p.stdin.Close()
			require.Equal(t, 0, p.exit())
		})
	}
}

func TestACommandWhoseTurnComesWhileWeAreStoppedIsStartedWhenWeGoOn(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*testing.T, *site, *process){
		"and goes on": func(t *testing.T, _ *site, p *process) {
			p.signal(syscall.SIGCONT)
			require.Equal(t, "ran", p.line())
			require.Equal(t, 0, p.exit())
		},
		"unless its lock was lost": func(t *testing.T, at *site, p *process) {
			at.killSession()
			p.awaitMessage("lock lost")
			p.signal(syscall.SIGCONT)
			require.Equal(t, 76, p.exit())
			require.Empty(t, p.rest())
		},
		"unless its lock was asked for": func(t *testing.T, at *site, p *process) {
			require.Equal(t, 0, at.zklock("revoke", at.path).exit())
			at.awaitQueue(0)
			p.signal(syscall.SIGCONT)
			require.Equal(t, 128+15, p.exit())
			require.Empty(t, p.rest())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			holder := at.run("--", "cat")
			at.awaitQueue(1)
			p := at.run("-v", "--on-revoke", "term", "--", "echo", "ran")
			at.awaitQueue(2)
			p.signal(syscall.SIGSTOP)
			p.awaitStop()
			holder.stdin.Close()
			p.awaitMessage("the lock is ours")
			p.mute(func() { require.Equal(t, 75, at.conflict("-w", inSeconds, "--", "true").exit()) })
			then(t, at, p)
		})
	}
}

func TestACommandThatIsStoppedAloneKeepsTheLockAndStopsNobody(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			p := at.run("--session-timeout", "4s", "--", "sh", "-c", `echo $$; read x; echo "got $x"; exit 3`)
			child := p.pid()
			for _, wait := range []string{"6s", "0"} { // again and again, as cpulimit does
				require.NoError(t, syscall.Kill(child, sig))
				eventually(t, "the command to stop", func() bool { return isStopped(child) })
				require.Equal(t, 75, at.run("-w", wait, "--", "true").exit(), "the session does not expire")
				require.False(t, isStopped(p.cmd.Process.Pid), "nobody would continue us")
				require.NoError(t, syscall.Kill(child, syscall.SIGCONT))
				eventually(t, "the command to go on", func() bool { return !isStopped(child) })
			}
			p.say("on")
			require.Equal(t, "got on", p.line())
			require.Equal(t, 3, p.exit())
		})
	}
}

func TestASignalToEndReachesAStoppedCommand(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", `echo $$; read x`)
	child := p.pid()
	require.NoError(t, syscall.Kill(child, syscall.SIGSTOP))
	eventually(t, "the command to stop", func() bool { return isStopped(child) })
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit())
}

func TestACommandWhoseLockWasLostWhileItWasStoppedDoesNotGoOn(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", `echo $$; kill -STOP $$; echo "it must not go on"`)
	child := p.pid()
	eventually(t, "the command to stop", func() bool { return isStopped(child) })
	at.killSession()
	require.Equal(t, 76, p.exit())
	require.Empty(t, p.rest())
	require.Contains(t, p.stderr.String(), at.path+": the lock was lost before the command had ended")
}

func isStopped(pid int) bool { return stateOf(pid) == 'T' }

func TestAStoppedOrphanStopsNeitherTheCommandNorUs(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", orphan+childVariable+"=announce exec "+os.Args[0])
	lines := []string{p.line(), p.line()}
	slices.Sort(lines) // digits come before letters
	pid := pidIn(t, lines[0])
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, "the orphan to stop", func() bool { return isStopped(pid) })
	for range 2 {
		p.signal(syscall.SIGWINCH)
		require.Equal(t, "SIGWINCH", p.line())
	}
}
