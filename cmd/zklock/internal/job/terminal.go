//go:build unix

package job

import (
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the controlling terminal of this process. Its keys signal the group
// in its foreground, which alone may read from it. A nil one does nothing.
type terminal struct {
	fd    int
	own   int         // the process group that is the shell's job
	lent  bool        // to the command, and not taken back
	modes *term.State // before the command changed them
}

// openTerminal returns nil if there is no controlling terminal.
func openTerminal(own int) *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	modes, err := term.GetState(fd)
	if err != nil {
		modes = nil
	}
	return &terminal{fd: fd, own: own, modes: modes}
}

func (t *terminal) close() {
	if t != nil {
		_ = unix.Close(t.fd)
	}
}

// has reports whether group is in the foreground.
func (t *terminal) has(group int) bool { return t != nil && t.foreground() == group }

// foreground returns the process group in the foreground, -1 if it cannot be known.
func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

// isAbandoned reports whether the group in the foreground is gone, to which the command
// has given the terminal: a shell that is killed with its jobs leaves it to one of these.
func (t *terminal) isAbandoned() bool {
	if t == nil || !t.lent {
		return false
	}
	group := t.foreground()
	return group > 1 && unix.Kill(-group, 0) == unix.ESRCH
}

// ours reports whether the job is in the foreground.
func (t *terminal) ours() bool { return t != nil && t.foreground() == t.own }

// offered reports whether a command is to have the terminal before it asks: if the
// job is in the foreground and is the front alone. Others in it, a pipeline or a
// script, may want the terminal too, and would be stopped for it.
func (t *terminal) offered() bool { return t.ours() && isAlone(t.own) }

// offer puts group in the foreground if it is offered.
func (t *terminal) offer(group int) {
	if t.offered() {
		t.give(group)
	}
}

// give puts group in the foreground.
func (t *terminal) give(group int) {
	t.lent = true
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) // the group has just ended
}

// takeFrom puts the job back in the foreground, if group is there.
func (t *terminal) takeFrom(group int) {
	if t.has(group) {
		t.take()
	}
}

func (t *terminal) take() {
	t.lent = false
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.own) // the terminal hung up
}

// restore undoes what a command that was killed had no time to undo: an editor's
// raw mode, for instance.
func (t *terminal) restore() {
	if t.ours() && t.modes != nil {
		_ = term.Restore(t.fd, t.modes) // the terminal hung up
	}
}
