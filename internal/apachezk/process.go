//go:build unix

package apachezk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/zklock/zklock/internal/warden"
)

// process is one run of a server's Java virtual machine.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and was waited for

	paused bool // guarded by Server.mu
}

// launch starts argv under w, its output appended to the file named log.
func launch(w *warden.Warden, log string, argv []string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	w.Adopt(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the state of the ended process is in cmd
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended already
	<-p.done
}

// pause returns when every thread has stopped; the signal alone leaves those
// that run a moment to go on.
func (p *process) pause() error {
	if p.paused {
		return nil
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pid := p.cmd.Process.Pid
	var status syscall.WaitStatus
	for {
		switch _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait until process %d stops: %w", pid, err)
		case !status.Stopped():
			return fmt.Errorf("process %d ended instead of stopping", pid)
		}
		p.paused = true
		return nil
	}
}

func (p *process) resume() error {
	p.paused = false
	return p.signal(syscall.SIGCONT)
}

func (p *process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%v to process %d: %w", sig, p.cmd.Process.Pid, err)
	}
	return nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
