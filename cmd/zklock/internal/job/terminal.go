//go:build unix

package job

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the controlling terminal of this process. Its keys signal the group
// in its foreground, which alone may read from it. A nil one does nothing.
type terminal struct {
	fd    int
	own   int         // our process group
	modes *term.State // before the command changed them
}

// openTerminal returns nil if there is no controlling terminal.
func openTerminal() *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	modes, err := term.GetState(fd)
	if err != nil {
		modes = nil
	}
	return &terminal{fd: fd, own: unix.Getpgrp(), modes: modes}
}

func (t *terminal) close() {
	if t != nil {
		_ = unix.Close(t.fd)
	}
}

// has tells whether group is in the foreground.
func (t *terminal) has(group int) bool {
	if t == nil {
		return false
	}
	foreground, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && foreground == group
}

// ours tells whether we are in the foreground.
func (t *terminal) ours() bool { return t != nil && t.has(t.own) }

// give puts group in the foreground, if we are there.
func (t *terminal) give(group int) {
	if t.ours() {
		_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) // the group has just ended
	}
}

// takeFrom puts us back in the foreground, if group is there.
func (t *terminal) takeFrom(group int) {
	if t.has(group) {
		t.take()
	}
}

func (t *terminal) take() {
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own) // the terminal hung up
}

// restore undoes what a command that was killed had no time to undo: an editor's
// raw mode, for instance.
func (t *terminal) restore() {
	if t.ours() && t.modes != nil {
		_ = term.Restore(t.fd, t.modes) // the terminal hung up
	}
}

// allowFromBackground lets this process take the terminal while another group has
// it. To be called when the command has been started, which would inherit it.
func allowFromBackground() { signal.Ignore(syscall.SIGTTOU) }
