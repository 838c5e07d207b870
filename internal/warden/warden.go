//go:build unix

// Package warden ends processes when the process that started them ends.
package warden

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A Warden ends a group of processes when this process ends, however it ends.
//
// It is a shell that leads the group and reads from a pipe of which only this
// process has the other end. When this process dies, by kill -9 too, the
// kernel closes that end, the read returns, and the shell kills its whole
// group, which works on stopped processes as well. There is no moment at
// which a process could escape: a child enters the group before it executes
// its program, and until then holds the pipe open itself. The group's number
// cannot be reused meanwhile, because it is the process id of the shell.
//
// Linux's parent-death signal would not do: it is sent when the thread that
// started the child exits, and the Go runtime ends threads as it sees fit.
//
// The group being apart, Ctrl-C in a terminal does not reach its members: they
// live until this process ends them or itself.
type Warden struct {
	shell    *exec.Cmd
	lifeline *os.File
}

// When this process dies while a member of the group is stopped, the kernel
// sends SIGHUP to the group, by then an orphan; the shell has to outlive it.
const script = `trap '' HUP; read -r _; kill -9 0`

// New returns a warden of nobody yet.
func New() (*Warden, error) {
	end, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("warden: %w", err)
	}
	defer end.Close()
	shell := exec.Command("/bin/sh", "-c", script)
	shell.Stdin = end
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		lifeline.Close()
		return nil, fmt.Errorf("warden: %w", err)
	}
	return &Warden{shell: shell, lifeline: lifeline}, nil
}

// Adopt makes cmd, which has not been started, a member of the group.
func (w *Warden) Adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: w.shell.Process.Pid}
}

// Close kills every member of the group and waits for the shell.
func (w *Warden) Close() {
	w.lifeline.Close()
	_ = w.shell.Wait() // it kills itself: the error says just that
}
