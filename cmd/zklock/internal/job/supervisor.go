//go:build unix

package job

import (
	"log/slog"
	"os"
	"syscall"
	"time"
)

// stopGrace is how long those of a group that were told to stop, and do something
// first, have to leave the terminal in order.
const stopGrace = 100 * time.Millisecond

// supervisor looks after a running group.
type supervisor struct {
	command Command
	group   *group
	begun   <-chan begun // nil once the group has been started
	tty     *terminal
	master  *Master
	signals <-chan os.Signal
	log     *slog.Logger

	told      commandState     // to the front
	halted    bool             // the group has been stopped with the job that it is part of
	hungUp    bool             // the command has wanted a terminal that nobody could give it
	ending    bool             // the group has been told to end
	killAfter time.Duration    // then: when to kill what is left
	kill      <-chan time.Time // likewise
	killing   bool             // that has come
	poll      *time.Ticker     // when to look at what nobody reports
}

// watch returns when nothing is left of the command, or why it could not be started.
func (s *supervisor) watch(changes <-chan os.Signal) error {
	lost := s.command.Lost
	s.poll = time.NewTicker(pollInterval)
	defer s.poll.Stop()
	for !s.gone() {
		select {
		case b := <-s.begun:
			if b.err != nil {
				return b.err
			}
			s.begin(b.id)
		case <-changes:
			s.reap()
		case sig := <-s.heard():
			s.pass(sig.(syscall.Signal))
		case <-lost:
			lost = nil
			s.end()
		case <-s.kill:
			s.log.Warn("killing what is left of the command", "group", s.group.id)
			s.killing = true
			s.group.kill()
		case <-s.poll.C:
			s.follow()
			s.group.endStrays()
			if s.group.ended && s.tty.isAbandoned() {
				s.leaveTerminal() // for the keys to reach somebody while we wait for the rest
			}
			if s.killing {
				s.group.kill() // what was not seen the first time
			}
		}
	}
	s.group.reap() // a zombie counts for the group that has the terminal
	return nil
}

// gone reports whether nothing is left of the command.
func (s *supervisor) gone() bool {
	gone := s.group.gone(s.ending)
	s.tell()
	return gone
}

// tell has the front know what to end if this process dies, and in which time: no group that has
// another's number.
func (s *supervisor) tell() {
	n := commandState{Running: true, Ending: s.ending, KillAfter: s.killAfter}
	if !s.ending {
		n.KillAfter = s.command.KillAfter()
	}
	if !s.group.void {
		n.Group = int32(s.group.id)
	}
	if n != s.told {
		s.told = n
		s.master.tell(n)
	}
}

// begin takes over the group that has been started.
func (s *supervisor) begin(id int) {
	s.begun = nil
	s.group.id, s.group.void = id, false
	s.tell()
	if s.killing {
		s.group.kill()
	}
	s.reap()
}

// heard returns where signals come from: nowhere while there is nobody to send them to.
func (s *supervisor) heard() <-chan os.Signal {
	if s.begun == nil {
		return s.signals
	}
	if family, _ := s.group.family(); len(family) == 0 {
		return nil
	}
	return s.signals
}

// reap acts on what has happened to the group's processes. One that cannot be executed
// is reaped by those who start it.
func (s *supervisor) reap() {
	if s.begun != nil {
		return
	}
	ended := s.group.ended
	switch event := s.group.reap(); {
	case event == 0 || s.ending:
	case event == syscall.SIGCONT:
		s.halted = false // if the front still is, follow will see to it
		s.tty.offer(s.group.id)
	default:
		s.stopped(event)
	}
	if !ended && s.group.ended && !s.gone() && !s.ending {
		s.tellOfRest()
	}
}

// tellOfRest tells what is left of a command that has ended by itself.
func (s *supervisor) tellOfRest() {
	if !s.group.void {
		s.log.Info("the command has ended and its process group has not: the lock is kept", "group", s.group.id)
		return
	}
	left, _ := s.group.family()
	s.log.Info("the command has ended and what it has started has not: the lock is kept", "processes", left)
}

// follow keeps the group in step with the front: that is what is stopped, and goes
// on, as part of a job.
func (s *supervisor) follow() {
	switch stopped := s.master.stopped(); {
	case s.ending:
	case s.begun != nil:
		s.group.signal(syscall.SIGCONT) // stopped before its execve, it would never come there
	case stopped && !s.halted:
		s.group.signal(syscall.SIGTSTP)
		s.halt()
	case !stopped && s.halted:
		s.resume()
	}
}

// leaveTerminal takes the terminal back from a group that is gone, or another of the
// command's.
func (s *supervisor) leaveTerminal() {
	status := s.group.status
	if !s.tty.has(s.group.id) && !s.tty.isAbandoned() {
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
		s.master.signal(sig)
		s.pass(sig) // to what is left
	}
}

// pass hands a signal on to the group.
func (s *supervisor) pass(sig syscall.Signal) {
	switch sig {
	case syscall.SIGKILL:
		s.log.Warn("the process that was started as zklock was killed")
		s.end()
	case syscall.SIGCONT:
		s.resume()
	default:
		s.group.signal(sig)
		asked := sig == syscall.SIGHUP || sig == syscall.SIGTERM
		if asked || s.group.ended && Ends(sig) { // nobody continues those that are left by a shell
			s.group.signal(syscall.SIGCONT) // a stopped process would not hear of it
		}
	}
}

// stopped acts on a stop of the command. The lock is kept in any case. What the
// terminal has stopped is the job, which the shell is to be told. A command that
// has used it from the background is given it, if the job is in the foreground.
// Whoever else has stopped the command is left to continue it. Where nobody could give
// it the terminal, it is hung up, as the kernel does to stopped jobs without a shell.
func (s *supervisor) stopped(by syscall.Signal) {
	wants := by == syscall.SIGTTIN || by == syscall.SIGTTOU
	switch {
	case s.halted:
	case wants && s.tty.ours():
		s.tty.give(s.group.id)
		s.group.signal(syscall.SIGCONT)
	case wants && s.tty != nil, by == syscall.SIGTSTP && s.tty.has(s.group.id):
		if wants && !s.hungUp && isOrphaned(s.master.group) {
			s.hungUp = true
			s.log.Warn("the command wants the terminal, which nobody could give it: it is hung up", "signal", name(by))
			s.group.signal(syscall.SIGHUP) // and heard of when it goes on
		}
		s.halt()
		s.master.signal(by)
		s.poll.Reset(pollInterval) // for the front to do as it is told
	default:
		s.log.Info("the command has been stopped: the lock is kept", "signal", name(by))
		s.tty.takeFrom(s.group.id) // for the keys to reach somebody
	}
}

// halt stops the group, when those who have been told to stop have had the time to
// do something first.
func (s *supervisor) halt() {
	s.log.Info("stopped with the job: the lock is kept")
	s.halted = true
	time.Sleep(stopGrace)
	s.group.signal(syscall.SIGSTOP)
	s.tty.takeFrom(s.group.id)
}

// resume lets the group go on, unless it has lost the right to, or the front has been
// stopped again.
func (s *supervisor) resume() {
	if s.master.stopped() {
		return
	}
	s.halted = false
	if !s.command.Valid() {
		s.end()
	}
	if s.begun == nil {
		s.tty.offer(s.group.id)
	}
	s.group.signal(syscall.SIGCONT)
}

// end makes the group end, once.
func (s *supervisor) end() {
	if s.ending || s.command.Ending == 0 {
		return
	}
	s.ending, s.killAfter = true, s.command.KillAfter()
	s.log.Warn("ending the command", "signal", name(s.command.Ending), "group", s.group.id, "kill_after", s.killAfter)
	if s.command.Ending == syscall.SIGKILL || s.begun != nil { // nothing has run, and perhaps nobody would hear
		s.killing, s.killAfter = true, 0
		s.group.kill()
		return
	}
	s.kill = time.After(s.killAfter)
	s.tell() // if this process is killed, the command has no more time than that
	s.group.end(s.command.Ending)
}
