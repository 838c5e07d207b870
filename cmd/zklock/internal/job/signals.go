//go:build unix

package job

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ending are the signals by which a process is asked to end.
var Ending = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

// passed are those that are passed on to the command. Before it runs those that do not
// end the wait mean nobody.
var passed = append(slices.Clip(Ending), syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGCONT)

// keyboard are those by which a terminal stops a job. The front does not catch
// them: what they do to it depends on whether there is a shell that could continue
// it, which the kernel knows.
var keyboard = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN}

// Catch has the signals sent to c, except those that this process was started to
// ignore, as by nohup: the command ignores them too.
func Catch(c chan<- os.Signal, signals []os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// fatal are those for which Go's runtime writes a trace before it ends the process: for ever, while
// nobody reads our standard error. Not every system has all of them.
var fatal = signalsNamed("SIGABRT", "SIGBUS", "SIGEMT", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSTKFLT", "SIGSYS", "SIGTRAP")

func signalsNamed(names ...string) (signals []os.Signal) {
	for _, name := range names {
		if sig := unix.SignalNum(name); sig != 0 {
			signals = append(signals, sig)
		}
	}
	return signals
}

// dieAtOnce has a fatal signal that is sent to this process kill it, for the other one to see it.
func dieAtOnce() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, fatal...)
	go func() {
		sig := <-c
		_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
		os.Exit(bySignal + int(sig.(syscall.Signal))) // a container's first process, which the kernel lets nobody in it kill
	}()
}

// Interrupted is an error that says that a signal asked this process to end.
type Interrupted struct{ Signal syscall.Signal }

// Ends reports whether a signal of the master's asks this process to end: SIGKILL
// says that the front has died.
func Ends(sig os.Signal) bool { return sig == syscall.SIGKILL || slices.Contains(Ending, sig) }

func (i *Interrupted) Error() string { return "interrupted by " + name(i.Signal) }

// ExitCode is a shell's for a process that the signal has ended.
func (i *Interrupted) ExitCode() int { return bySignal + int(i.Signal) }

// bySignal is added to the number of the signal that ended a process to make an
// exit code.
const bySignal = 128

func name(sig syscall.Signal) string {
	if s := unix.SignalName(sig); s != "" {
		return s
	}
	return fmt.Sprintf("signal %d", int(sig))
}
