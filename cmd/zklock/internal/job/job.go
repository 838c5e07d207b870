//go:build unix

package job

import (
	"errors"
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
	// the same before it starts, and before it goes on after a stop.
	Lost  <-chan struct{}
	Valid func() bool

	// Ending is sent to the command when Lost is closed; 0 lets it run on. What is
	// left of it is killed KillAfter later.
	Ending    syscall.Signal
	KillAfter time.Duration

	// Orphaned is sent to the command, on Linux, when this process is killed.
	Orphaned syscall.Signal
}

// ErrLost says that the right to run was lost before the command had started.
var ErrLost = errors.New("the command was not started")

// survey is how often is looked at what nobody reports: that the front has stopped,
// or that a process has ended whose parent has left the group.
const survey = 100 * time.Millisecond

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

// Run starts the command and returns when nothing is left of it. The signals of the
// master are passed on to it. An error is an [*ExecError], [ErrLost], or an
// [*Interrupted] while the front was stopped: nothing was run.
func Run(c Command, master *Master, log *slog.Logger) (Result, error) {
	if err := master.awaitGoing(c.Lost); err != nil {
		return Result{}, err
	}
	runtime.LockOSThread() // the kernel counts the death of this thread as ours
	defer runtime.UnlockOSThread()
	tty := openTerminal(master.group)
	defer tty.close()
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGCHLD)
	defer signal.Stop(changes)

	master.tell(news{Running: true, KillAfter: c.KillAfter})
	g, err := start(c, tty)
	if err != nil {
		master.tell(news{})
		return Result{}, err
	}
	master.tell(news{Running: true, KillAfter: c.KillAfter, Group: int32(g.id)})
	s := &supervisor{command: c, group: g, tty: tty, master: master, signals: master.Signals, log: log}
	s.watch(changes)
	s.leaveTerminal()
	master.tell(news{Interrupted: g.status.Signaled() && g.status.Signal() == syscall.SIGINT})
	return Result{Status: g.status, Ended: s.ending}, nil
}
