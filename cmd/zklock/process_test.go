package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a running zklock in a process group of its own, as a shell's job is.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	lines  chan string // of its standard output; closed at the end of that
	stderr *record
	exited chan struct{}
}

// record is a buffer that may be read while it is written to.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// zklock starts the command with the arguments, and the servers in its environment.
func (at *site) zklock(args ...string) *process {
	at.t.Helper()
	return at.start(at.command(args...))
}

// run starts zklock run on the site's path: args are flags, then "--" and the
// command.
func (at *site) run(args ...string) *process {
	at.t.Helper()
	return at.zklock(at.runArgs(args...)...)
}

// runChild is run for one of the children.
func (at *site) runChild(child string, flags ...string) *process {
	at.t.Helper()
	return at.run(append(flags, as(child)...)...)
}

// contender runs a command that says in when it has the lock, and keeps it until the end
// of its input.
func (at *site) contender(flags ...string) *process {
	at.t.Helper()
	return at.run(append(flags, "--", "sh", "-c", "echo in; cat")...)
}

// holder is a contender that has the lock.
func (at *site) holder(flags ...string) *process {
	at.t.Helper()
	p := at.contender(flags...)
	require.Equal(at.t, "in", p.line())
	return p
}

// Times to wait for the lock, in the forms that -w takes.
const (
	inSeconds = "SECONDS"
	inUnits   = "UNITS"
)

// conflict is run when somebody else has the lock, and returns at the end. A time to
// wait is made longer until it suffices to reach the queue: on a busy machine it may
// take a while to start and to connect.
func (at *site) conflict(args ...string) *process {
	at.t.Helper()
	for wait := 200 * time.Millisecond; ; wait *= 2 {
		timed := slices.Clone(args)
		for i, arg := range timed {
			switch arg {
			case inSeconds:
				timed[i] = fmt.Sprint(wait.Seconds())
			case inUnits:
				timed[i] = wait.String()
			}
		}
		const unreachable = 69
		if p := at.run(timed...); p.exit() != unreachable || slices.Equal(args, timed) || wait > *patience/3 {
			return p
		}
	}
}

func (at *site) runArgs(args ...string) []string {
	for i, arg := range args {
		if arg == "--" {
			flags := append([]string{"run"}, args[:i]...)
			return append(append(flags, at.path), args[i:]...)
		}
	}
	at.t.Fatalf("no -- in %q", args)
	return nil
}

func (at *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(zklockBinary, args...)
	cmd.Env = append(os.Environ(), "ZKLOCK_SERVERS="+at.addr)
	return cmd
}

func (at *site) start(cmd *exec.Cmd) *process {
	at.t.Helper()
	return startProcess(at.t, cmd)
}

func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	return startIn(t, cmd, &syscall.SysProcAttr{Setpgid: true})
}

// startSession starts it in a session of its own, as a daemon is.
func startSession(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	return startIn(t, cmd, &syscall.SysProcAttr{Setsid: true})
}

func startIn(t *testing.T, cmd *exec.Cmd, attr *syscall.SysProcAttr) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, lines: make(chan string, 4096), exited: make(chan struct{}), stderr: new(record)}
	cmd.SysProcAttr, cmd.WaitDelay = attr, 5*time.Second
	if cmd.Stderr == nil {
		cmd.Stderr = p.stderr
	}
	var err error
	if cmd.Stdin == nil {
		p.stdin, err = cmd.StdinPipe()
		require.NoError(t, err)
	}
	p.stdout = io.NopCloser(strings.NewReader(""))
	if cmd.Stdout == nil {
		p.stdout, err = cmd.StdoutPipe()
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Start())
	go func() {
		defer close(p.exited)
		for lines := bufio.NewScanner(p.stdout); lines.Scan(); {
			p.lines <- lines.Text()
		}
		close(p.lines)
		_ = cmd.Wait() // how it ended is in its state
	}()
	t.Cleanup(p.end)
	return p
}

// end makes sure that nothing is left of the process.
func (p *process) end() {
	if p.stdin != nil {
		p.stdin.Close()
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.stdout.Close() // what it has started, and left, has the other end
		<-p.exited
	}
	if p.t.Failed() {
		p.t.Logf("%q said:\n%s", p.cmd.Args[1:], p.stderr)
	}
}

// line returns the next line of standard output.
func (p *process) line() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		require.True(p.t, ok, "the output ended; stderr: %s", p.stderr)
		return line
	case <-time.After(*patience):
		require.Fail(p.t, "waiting for a line of output", "stderr: %s", p.stderr)
		return ""
	}
}

// say writes a line to standard input.
func (p *process) say(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.stdin, line+"\n")
	require.NoError(p.t, err)
}

// pid returns the process id with which a line of output ends.
func (p *process) pid() int {
	p.t.Helper()
	return pidIn(p.t, p.line())
}

func pidIn(t *testing.T, text string) int {
	t.Helper()
	fields := strings.Fields(text)
	require.NotEmpty(t, fields)
	pid, err := strconv.Atoi(fields[len(fields)-1])
	require.NoError(t, err)
	return pid
}

// family returns the processes of the child of that name, which end with the test.
func (p *process) family() (parent, child int) {
	p.t.Helper()
	child = p.pid()
	parent, err := syscall.Getpgid(child)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = syscall.Kill(-parent, syscall.SIGKILL) }) // it is deaf, or may be stopped
	return parent, child
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(*patience):
		require.Fail(p.t, "waiting for the end", "stderr: %s", p.stderr)
		return -1
	}
}

// rest waits for the end and returns the lines that were not read yet.
func (p *process) rest() []string {
	p.t.Helper()
	p.exit()
	var lines []string
	for line := range p.lines {
		lines = append(lines, line)
	}
	return lines
}

// awaitMessage returns when that was written to standard error.
func (p *process) awaitMessage(part string) {
	p.t.Helper()
	eventually(p.t, "the message "+part, func() bool { return strings.Contains(p.stderr.String(), part) })
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// awaitStop waits until the process is stopped.
func (p *process) awaitStop() {
	p.t.Helper()
	eventually(p.t, "the process to stop", func() bool { return stateOf(p.cmd.Process.Pid) == 'T' })
}

// alive tells whether there is such a process, and it is not a zombie.
func alive(pid int) bool {
	state := stateOf(pid)
	return state != 0 && state != 'Z'
}

// mute tells that nothing comes from the process before do has returned.
func (p *process) mute(do func()) {
	p.t.Helper()
	do()
	select {
	case line, ok := <-p.lines:
		require.False(p.t, ok, "it said %q", line)
		require.Fail(p.t, "it ended", "stderr: %s", p.stderr)
	default:
	}
}
