//go:build unix

package job

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Master is the [Front] as its keeper sees it.
type Master struct {
	Signals chan os.Signal // that it passes on; SIGKILL when it has died

	pid    int
	group  int // its process group, which is the job of the shell
	conn   *os.File
	died   atomic.Bool
	halted bool         // when it could be looked at last
	echo   atomic.Int32 // the signal that it is about to pass on since signal has sent it; 0 if none
}

// OpenMaster finds the front behind the descriptor. From then on this process, its
// keeper, gets the signals of the front and heeds none of its own: those that are
// meant for the whole lot, as a service manager's, would come twice.
func OpenMaster(descriptor int) (*Master, error) {
	if !isOfParent(descriptor) {
		return nil, fmt.Errorf("descriptor %d is no socket of the process that has started this one", descriptor)
	}
	unix.CloseOnExec(descriptor)
	if err := unix.SetNonblock(descriptor, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	m := &Master{
		Signals: make(chan os.Signal, 16),
		pid:     unix.Getppid(),
		conn:    os.NewFile(uintptr(descriptor), "front"),
	}
	m.group, _ = unix.Getpgid(m.pid) // of one that has died: its end is about to be heard of
	dieAtOnce()
	heedNone := make(chan os.Signal, 1)
	Catch(heedNone, passed)
	Catch(heedNone, keyboard)
	signal.Ignore(syscall.SIGTTOU) // to give the terminal, and to write to it, from the background
	hideFromKillall()
	go m.listen()
	return m, nil
}

func (m *Master) listen() {
	for {
		var sig [1]byte
		if _, err := io.ReadFull(m.conn, sig[:]); err != nil {
			m.died.Store(true)
			m.Signals <- syscall.SIGKILL
			return
		}
		if !m.echo.CompareAndSwap(int32(sig[0]), 0) {
			m.Signals <- syscall.Signal(sig[0])
		}
	}
}

// Died reports whether the front was killed.
func (m *Master) Died() bool { return m.died.Load() }

// tell says what the front has to know of the command.
func (m *Master) tell(n commandState) {
	_ = binary.Write(m.conn, binary.NativeEndian, n) // its death is heard of by listen
}

// Failed tells the front that the wait for the right to run has ended by err.
func (m *Master) Failed(err error) {
	var by *Interrupted
	m.tell(commandState{Interrupted: errors.As(err, &by) && by.Signal == syscall.SIGINT})
}

// Waits tells the front that the command is over, and that another may follow.
func (m *Master) Waits() { m.tell(commandState{}) }

// stopped reports whether the front is seen to be stopped.
func (m *Master) stopped() bool {
	if m.pid == 0 || m.Died() {
		return false
	}
	if stopped, known := isStopped(m.pid); known {
		m.halted = stopped
	}
	return m.halted
}

// awaitGoing returns when the front is not seen to be stopped, and the command, which
// is part of the same job, may be started. Its error says why it is not to be any more.
func (m *Master) awaitGoing(c Command) error {
	for m.stopped() {
		select {
		case sig := <-c.Signals:
			if Ends(sig) {
				return &Interrupted{Signal: sig.(syscall.Signal)}
			}
		case <-c.Lost:
			return ErrLost
		case <-time.After(pollInterval):
		}
	}
	return nil
}

// signal does to the job that the front is part of what the terminal would do. The
// kernel discards a stop where there is no shell that could continue it. What the front passes
// on is nothing new.
func (m *Master) signal(sig syscall.Signal) {
	if m.group == 0 || m.Died() {
		return
	}
	if slices.Contains(passed, os.Signal(sig)) {
		m.echo.Store(int32(sig))
	}
	switch {
	case m.group == 1: // a container's first; -1 is everybody
		for _, pid := range members(m.group) {
			_ = unix.Kill(pid, sig)
		}
	default:
		_ = unix.Kill(-m.group, sig)
	}
}
