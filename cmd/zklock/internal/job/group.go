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

// signal sends sig to every process of the group.
func (g *group) signal(sig syscall.Signal) {
	_ = unix.Kill(-g.id, sig) // there is nobody left, or nobody that is ours to signal
}

// reap takes note of the processes that have ended or stopped. It returns the
// signal by which one of the group was stopped, 0 if none was.
func (g *group) reap() (stop syscall.Signal) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == 0:
			return stop
		case status.Stopped():
			if of, err := unix.Getpgid(pid); err == nil && of == g.id {
				stop = status.StopSignal()
			}
		case pid == g.id:
			g.ended, g.status = true, status
		}
	}
}

// gone tells whether the last process of the group has ended.
func (g *group) gone() bool {
	return g.ended && errors.Is(unix.Kill(-g.id, 0), unix.ESRCH)
}
