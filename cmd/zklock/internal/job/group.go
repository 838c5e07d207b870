//go:build unix

package job

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the process group of a command. While one of its processes lives its
// number is not given to another.
type group struct {
	id     int // of the group, and of the process that leads it
	ended  bool
	status syscall.WaitStatus // of the leader, once it has ended
}

// start runs the command as the leader of a new process group, in the foreground
// of tty if that is ours to give.
func start(c Command, tty *terminal) (*group, error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	foreground := tty.ours()
	if foreground {
		attr.Foreground, attr.Ctty = true, tty.fd
	}
	dieWithParent(attr, c.Orphaned)
	adoptOrphans()
	id, err := syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		Env:   c.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   attr,
	})
	allowFromBackground()
	if err != nil {
		if foreground {
			tty.take()
		}
		return nil, &ExecError{Name: c.Args[0], Err: err}
	}
	return &group{id: id}, nil
}

// signal sends sig to every process of the group, and to its leader wherever that
// is now. It fails if there is nobody left, or nobody that is ours to signal.
func (g *group) signal(sig syscall.Signal) {
	_ = unix.Kill(-g.id, sig)
	if of, err := unix.Getpgid(g.id); err == nil && of != g.id && !g.ended {
		_ = unix.Kill(g.id, sig)
	}
}

// reap takes note of the processes that have ended. It returns the signal by which
// the group was stopped, SIGCONT if it was continued, and 0 if neither.
func (g *group) reap() (event syscall.Signal) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED|continued, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == 0:
			return event
		case !g.speaksFor(pid):
		case status.Stopped():
			event = status.StopSignal()
		case status.Continued():
			event = syscall.SIGCONT
		case pid == g.id:
			g.ended, g.status = true, status
		}
	}
}

// speaksFor tells whether what happens to the process speaks for the group: to the
// leader, or, when that has ended, to any of it.
func (g *group) speaksFor(pid int) bool {
	if !g.ended {
		return pid == g.id
	}
	of, err := unix.Getpgid(pid)
	return err == nil && of == g.id
}

// gone tells whether the last process of the group has ended.
func (g *group) gone() bool {
	return g.ended && errors.Is(unix.Kill(-g.id, 0), unix.ESRCH)
}
