//go:build unix

package job

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// manners is how long those of a group that were told to stop, and do something
// first, have to leave the terminal in order.
const manners = 100 * time.Millisecond

// supervisor looks after a running group.
type supervisor struct {
	command Command
	group   *group
	tty     *terminal
	signals chan os.Signal
	log     *slog.Logger

	halted bool             // the whole group has been stopped
	ending bool             // the group has been told to end
	kill   <-chan time.Time // when to kill it
	rest   <-chan time.Time // when to look whether the group is gone; nil while its leader lives
}

// watch returns when the group is gone.
func (s *supervisor) watch(changes <-chan os.Signal) {
	lost := s.command.Lost
	for !s.group.gone() {
		select {
		case <-changes:
			s.look()
		case sig := <-s.signals:
			s.pass(sig.(syscall.Signal))
		case <-lost:
			lost = nil
			s.end()
		case <-s.kill:
			s.log.Warn("killing what is left of the command", "group", s.group.id)
			s.group.signal(syscall.SIGKILL)
		case <-s.rest:
		}
	}
}

// look acts on what has happened to the group's processes.
func (s *supervisor) look() {
	ended := s.group.ended
	switch event := s.group.reap(); {
	case event == 0 || s.ending:
	case event == syscall.SIGCONT && s.halted:
		s.resume() // somebody else has continued the command
	case event != syscall.SIGCONT && !s.halted:
		s.stopped(event)
	}
	if ended || !s.group.ended {
		return
	}
	s.rest = time.Tick(survey)
	if !s.group.gone() {
		s.log.Info("the command has ended and its process group has not: the lock is kept", "group", s.group.id)
	}
}

// leaveTerminal takes the terminal back from a group that is gone.
func (s *supervisor) leaveTerminal() {
	status := s.group.status
	if !s.tty.has(s.group.id) {
		return
	}
	s.tty.take()
	if !status.Signaled() {
		return
	}
	s.tty.restore()
	// The key that ended the command was meant for all that runs in the
	// foreground: the script that we are part of, or the rest of a pipeline.
	if sig := status.Signal(); sig == syscall.SIGINT || sig == syscall.SIGQUIT {
		signal.Ignore(sig)
		_ = unix.Kill(0, sig)
	}
}

// pass hands a signal on to the group.
func (s *supervisor) pass(sig syscall.Signal) {
	switch sig {
	case syscall.SIGCONT:
		s.resume()
	case syscall.SIGHUP, syscall.SIGTERM:
		s.group.signal(sig)
		s.group.signal(syscall.SIGCONT) // a stopped process would not hear of it
	default:
		s.group.signal(sig)
	}
}

// stopped stops this process too, so that whoever waits for it knows, and the
// shell can go on; and before that the rest of the group, which must not run while
// nobody looks after the lock. A command that was stopped because it used the
// terminal from the background, where we are no more, goes on in the foreground
// instead.
func (s *supervisor) stopped(by syscall.Signal) {
	if (by == syscall.SIGTTIN || by == syscall.SIGTTOU) && s.tty.ours() {
		s.resume()
		return
	}
	s.log.Info("stopped with the command", "signal", name(by))
	s.halted = true
	if by != syscall.SIGSTOP {
		time.Sleep(manners)
	}
	s.group.signal(syscall.SIGSTOP)
	signal.Ignore(syscall.SIGTSTP)
	if s.tty.has(s.group.id) {
		s.tty.takeFrom(s.group.id)
		_ = unix.Kill(0, syscall.SIGTSTP) // the key was meant for our whole group
	}
	// Go cannot give a signal that it has caught its default effect back. This one
	// it has never caught, and the kernel, as it does with SIGTSTP, discards it
	// where there is no shell that could continue us.
	_ = unix.Kill(unix.Getpid(), syscall.SIGTTIN)
}

// resume lets the group go on, unless it has lost the right to while nobody
// could look.
func (s *supervisor) resume() {
	s.halted = false
	signal.Notify(s.signals, syscall.SIGTSTP) // see stopped
	if !s.command.Valid() {
		s.end()
	}
	s.tty.give(s.group.id)
	s.group.signal(syscall.SIGCONT)
}

// end makes the group end, once.
func (s *supervisor) end() {
	if s.ending || s.command.Ending == 0 {
		return
	}
	s.ending = true
	s.group.signal(s.command.Ending)
	s.group.signal(syscall.SIGCONT) // a stopped process would not hear of it
	s.kill = time.After(s.command.KillAfter)
	s.log.Warn("ending the command", "signal", name(s.command.Ending), "group", s.group.id, "kill_after", s.command.KillAfter)
}
