package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fullPipe is a pipe that nobody reads, and that takes nothing more.
func fullPipe(t *testing.T) (writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		reader.Close()
		writer.Close()
	})
	fd := int(writer.Fd())
	require.NoError(t, syscall.SetNonblock(fd, true))
	for err = nil; err == nil; {
		_, err = unix.Write(fd, make([]byte, 1<<10))
	}
	require.ErrorIs(t, err, unix.EAGAIN)
	require.NoError(t, syscall.SetNonblock(fd, false))
	return writer
}

func TestASignalEndsACommandWhoseOutputNobodyReads(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"status":         {"status"},
		"status as JSON": {"status", "--format", "json"},
		"watch":          {"status", "--watch"},
		"revoke":         {"revoke"},
		"break":          {"break", "--node", lockName + "0000000000", "--yes"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(name+" "+sig.String(), func(t *testing.T) {
				at := newSite(t)
				at.create(zk.WorldACL(zk.PermAll))
				at.contend(lockName, "host=a pid=1", zk.WorldACL(zk.PermAll))
				endUnread(t, at.command(append(args, at.path)...), sig)
				require.Len(t, at.queue(), 1, "nothing was deleted that was not shown")
			})
		}
	}
}

func TestASignalEndsADemonstrationWhoseOutputNobodyReads(t *testing.T) {
	t.Parallel()
	endUnread(t, exec.Command(zklockBinary, "demo"), syscall.SIGTERM)
}

// endUnread tells that the signal ends the command while it waits for somebody to read.
func endUnread(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	cmd.Stdout = fullPipe(t)
	p := startProcess(t, cmd)
	eventually(t, "the pipe to hold it up", func() bool { return writes(p.cmd.Process.Pid) })
	p.signal(sig)
	require.Equal(t, 128+int(sig), p.exit())
}

// Go's runtime writes a trace first.
func TestASignalThatAbortsEitherProcessEndsTheCommandWhileNobodyReadsErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		aborted func(p *process) int
		code    int
	}{
		"the first":  {func(p *process) int { return p.cmd.Process.Pid }, -1},
		"the second": {keeper, 76},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV} {
			t.Run(name+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				at := newSite(t)
				cmd := at.command(at.runArgs("--", "sh", "-c", "echo $$; exec sleep 1000 2>/dev/null")...)
				cmd.Stderr = fullPipe(t)
				p := at.start(cmd)
				command, aborted := p.pid(), c.aborted(p)
				t.Cleanup(func() {
					_ = syscall.Kill(command, syscall.SIGKILL)
					_ = syscall.Kill(aborted, syscall.SIGKILL)
				})
				require.NoError(t, syscall.Kill(aborted, sig))
				require.Equal(t, c.code, p.exit())
				eventually(t, "the end of the command", func() bool { return !alive(command) })
			})
		}
	}
}

// Go's runtime writes them with everything else stopped.
func TestTracesOfGoThatNobodyReadsHoldNothingUp(t *testing.T) {
	t.Parallel()
	const traced = "GODEBUG=netdns=go,gctrace=1"
	at := newSite(t)
	cmd := at.command(at.runArgs("--", "sh", "-c", "env | grep GODEBUG; sleep 0")...)
	cmd.Env = append(cmd.Env, traced)
	cmd.Stderr = fullPipe(t)
	p := at.start(cmd)
	require.Equal(t, traced, p.line(), "it is the command's")
	require.Empty(t, p.rest())
	require.Zero(t, p.exit())
}

func TestASignalEndsAWatchOnATerminalThatIsStopped(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	c := newConsole(at)
	file := filepath.Join(t.TempDir(), "pid")
	c.enter(`sh -c 'echo $$ >` + file + `; exec zklock status --watch $P'`)
	c.expect("does not exist: ")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid := pidIn(t, string(text))
	c.key(ctrlS)
	eventually(t, "the terminal to hold it up", func() bool { return writes(pid) })
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	eventually(t, "the watch to end", func() bool { return !alive(pid) })
}

const ctrlS = "\x13"

// writes reports whether a thread of the process is at writing to standard output.
func writes(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, file := range threads {
		text, _ := os.ReadFile(file) // the thread may have ended
		if strings.HasPrefix(string(text), fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE)) {
			return true
		}
	}
	return false
}

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, line := range []string{
		"ls --help", "help run", "--version", "completion bash", "completion zsh", "completion fish", "demo", "server --listen 127.0.0.1:0",
	} {
		cmd := exec.CommandContext(t.Context(), zklockBinary, strings.Fields(line)...)
		cmd.Stdout = full
		said := new(strings.Builder)
		cmd.Stderr = said
		_ = cmd.Run()
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), line)
		require.Contains(t, said.String(), "no space left on device", line)
	}
}
