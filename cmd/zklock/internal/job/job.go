//go:build unix

package job

import (
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Command is what to run, with this process's standard input, output and error,
// and what becomes of it when it must not go on.
type Command struct {
	Path string   // of the file to execute
	Args []string // with the command's name as the first
	Env  []string

	// Lost is closed when the command has lost the right to run. Valid asks for
	// the same before it goes on after a stop, during which nobody could tell.
	Lost  <-chan struct{}
	Valid func() bool

	// Ending is sent to the group when Lost is closed; 0 lets it run on. What is
	// left of the group is killed KillAfter later.
	Ending    syscall.Signal
	KillAfter time.Duration

	// Orphaned is sent to the command, on Linux, when this process is killed.
	Orphaned syscall.Signal
}

// survey is how often a group without its leader is looked at. The end of most
// processes is reported, but not of one whose parent has left the group.
const survey = 50 * time.Millisecond

// Result is how a command has ended.
type Result struct {
	Status syscall.WaitStatus // of the process that was started
	Ended  bool               // it was ended because it had lost the right to run
}

// ExitCode is the command's, or, as a shell has it, 128 plus the number of the
// signal that ended it.
func (r Result) ExitCode() int {
	if r.Status.Signaled() {
		return bySignal + int(r.Status.Signal())
	}
	return r.Status.ExitStatus()
}

// Run starts the command and returns when no process of its group is left. The
// signals that arrive, and those that this process gets besides, are passed on to
// the group. An error is an [*ExecError]: nothing was run.
func Run(c Command, signals chan os.Signal, log *slog.Logger) (Result, error) {
	runtime.LockOSThread() // the kernel counts the death of this thread as ours
	defer runtime.UnlockOSThread()
	tty := openTerminal()
	defer tty.close()
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGCHLD)
	defer signal.Stop(changes)
	Catch(signals, passed)

	g, err := start(c, tty)
	if err != nil {
		return Result{}, err
	}
	s := &supervisor{command: c, group: g, tty: tty, signals: signals, log: log}
	s.watch(changes)
	s.leaveTerminal()
	return Result{Status: g.status, Ended: s.ending}, nil
}
