//go:build unix

// Package job runs a command as a shell runs a job: in a process group of its own,
// which has the terminal while it is in the foreground, stops and goes on with the
// process that started it, and is over when nothing of it is left.
//
// Two processes do it. The [Front] is the one that the shell has started: it may be
// stopped, and killed. The keeper, which it starts and which sees it as [Master],
// holds the lock and is the command's parent: it is in a process group of its own,
// out of reach of what stops the front, so that the lock is looked after for as long
// as the command lives. Each of them ends the command when the other has died.
package job

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
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
	// left of it is killed later, by what KillAfter, which is asked all the while, says then.
	Ending    syscall.Signal
	KillAfter func() time.Duration

	// Orphaned is sent to the command, on Linux, when this process is killed.
	Orphaned syscall.Signal

	// Signals are passed on to the command: those of the master, unless somebody else takes them first.
	Signals <-chan os.Signal
}

// ErrLost says that the right to run was lost before the command had started.
var ErrLost = errors.New("the command was not started")

// pollInterval is how often is looked at what nobody reports: that the front has stopped,
// or that a process has ended whose parent has left the group.
const pollInterval = 100 * time.Millisecond

// Result is how a command has ended.
type Result struct {
	Status   syscall.WaitStatus // of the process that was started
	Lost     bool               // the right to run was lost before it had ended
	Terminal bool               // there is one, whose keys and end may have been what ended it
}

// ExitCode is the command's, or, as a shell has it, 128 plus the number of the
// signal that ended it.
func (r Result) ExitCode() int {
	if r.Status.Signaled() {
		return bySignal + int(r.Status.Signal())
	}
	return r.Status.ExitStatus()
}

// Run starts the command and returns when nothing is left of it. An error is an
// [*ExecError], [ErrLost], or an [*Interrupted] while the front was stopped: nothing was run.
func Run(c Command, master *Master, log *slog.Logger) (Result, error) {
	if err := master.awaitGoing(c); err != nil {
		return Result{}, err
	}
	tty := openTerminal(master.group)
	defer tty.close()
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGCHLD)
	defer signal.Stop(changes)

	s := &supervisor{command: c, group: &group{void: true}, tty: tty, master: master, signals: c.Signals, log: log}
	s.tell()
	over := make(chan struct{})
	defer close(over)
	s.begun = start(func() (int, error) { return execute(c, tty) }, over)
	if err := s.watch(changes); err != nil {
		master.tell(commandState{})
		return Result{}, err
	}
	s.leaveTerminal()
	status := s.group.status
	result := Result{Status: status, Lost: s.ending || c.Ending != 0 && !c.Valid(), Terminal: tty != nil}
	master.tell(commandState{
		Over: !result.Lost, Code: int32(result.ExitCode()),
		Interrupted: status.Signaled() && status.Signal() == syscall.SIGINT,
	})
	return result, nil
}

// The exit codes of a shell for a command that cannot be run.
const (
	notExecutable = 126
	notFound      = 127
)

// ExecError says that a command cannot be run.
type ExecError struct {
	Name string
	Err  error
}

func (e *ExecError) Error() string {
	return fmt.Sprintf("cannot run %q: %v", e.Name, e.Err)
}

func (e *ExecError) Unwrap() error { return e.Err }

// explained is why the kernel does not execute a file that was found, and what may be done about it.
func explained(path string, err error) error {
	_, missing := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: a script needs a first line that names its interpreter, such as #!/bin/sh", err)
	case errors.Is(err, syscall.ENOENT) && missing == nil:
		return fmt.Errorf("%w: the file exists, and its interpreter does not: what the first line of a script names, or a program's loader", err)
	}
	return err
}

// ExitCode is what a shell would exit with: 127 if the command does not exist, 126
// if it exists and cannot be executed.
func (e *ExecError) ExitCode() int {
	if errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, fs.ErrNotExist) {
		return notFound
	}
	return notExecutable
}

// defaultPath is where commands are looked for if there is no PATH.
const defaultPath = "/bin:/usr/bin"

// Find returns the file that name stands for, by the rules of execvp: what cannot be
// executed is passed over, and told of only if nothing else has the name. Its error is an
// [*ExecError].
func Find(name string) (string, error) {
	if strings.Contains(name, "/") {
		if err := check(name); err != nil {
			return "", &ExecError{Name: name, Err: err}
		}
		return name, nil
	}
	path, set := os.LookupEnv("PATH")
	if !set {
		path = defaultPath
	}
	var refused error
	for dir := range strings.SplitSeq(path, ":") {
		file := cmp.Or(dir, ".") + "/" + name
		switch err := check(file); {
		case err == nil:
			return file, nil
		case name != "" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR)):
			refused = cmp.Or(refused, fmt.Errorf("%s: %w", file, err))
		}
	}
	return "", &ExecError{Name: name, Err: cmp.Or(refused, exec.ErrNotFound)}
}

// check returns why a file cannot be executed.
func check(file string) error {
	_, err := exec.LookPath(file) // nowhere else: it has a slash
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		return lookup.Err // without the name, which is told anyway
	}
	return err
}
