package nemesis

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
)

// jobVariable is the environment variable that makes this package's executable a
// worker.
const jobVariable = "ZKLOCK_NEMESIS_JOB"

// message is what a worker reports, one per line.
type message struct {
	Op     *Op     `json:",omitempty"`
	Update *Update `json:",omitempty"`
	State  string  `json:",omitempty"` // that it has reached
}

// Worker is a process that uses locks.
type Worker struct {
	Number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	states chan string   // that it reports; closed at its end
	ended  chan struct{} // closed when it was waited for
	err    error         // how it ended, once it has

	session atomic.Int64 // of its newest hold
	killed  atomic.Bool
}

// StartWorker starts a process that does the job and reports to the history. It
// ends with the test, or with this process.
func StartWorker(tb apachezk.TB, job Job, history *History) (*Worker, error) {
	tb.Helper()
	description, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &Worker{Number: job.Process, cmd: exec.Command(self), states: make(chan string, 16), ended: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), jobVariable+"="+string(description))
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.listen(out, history)
	tb.Cleanup(func() {
		w.Kill()
		<-w.ended
	})
	return w, nil
}

// listen takes the reports until the process ends.
func (w *Worker) listen(out io.Reader, history *History) {
	defer close(w.ended)
	defer close(w.states)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var m message
		if err != nil || json.Unmarshal(line, &m) != nil {
			break // the end, or what a kill has left of a line
		}
		switch {
		case m.Op != nil:
			if m.Op.Session != 0 {
				w.session.Store(m.Op.Session)
			}
			history.Report(*m.Op)
		case m.Update != nil:
			history.ReportUpdate(*m.Update)
		default:
			w.states <- m.State
		}
	}
	w.err = w.cmd.Wait()
}

// Await returns when the process has reported the state, or with an error when it
// has ended. One that does not get there in time hangs: it is made to print what
// its goroutines do, and ends.
func (w *Worker) Await(state string) error {
	late := time.NewTimer(recovery)
	defer late.Stop()
	for {
		select {
		case s, running := <-w.states:
			if s == state {
				return nil
			}
			if !running {
				return fmt.Errorf("process %d ended before it was %s", w.Number, state)
			}
		case <-late.C:
			return errors.Join(fmt.Errorf("process %d is not %s after %v", w.Number, state, recovery),
				w.cmd.Process.Signal(syscall.SIGQUIT))
		}
	}
}

// Tell sends a command to the process.
func (w *Worker) Tell(command string) error {
	_, err := io.WriteString(w.in, command+"\n")
	return err
}

// Kill ends the process by SIGKILL.
func (w *Worker) Kill() {
	w.killed.Store(true)
	_ = w.cmd.Process.Kill() // fails only if it has ended
}

// Stop stops the process by SIGSTOP, and returns when all of it has stopped.
func (w *Worker) Stop() error {
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(w.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait until process %d stops: %w", w.Number, err)
		case !status.Stopped():
			return fmt.Errorf("process %d ended instead of stopping", w.Number)
		default:
			return nil
		}
	}
}

// Continue ends what Stop began.
func (w *Worker) Continue() error { return w.cmd.Process.Signal(syscall.SIGCONT) }

// Failure waits for the end of the process, and returns an error unless Kill or
// Finish was the cause.
func (w *Worker) Failure() error {
	<-w.ended
	if w.err == nil || w.killed.Load() {
		return nil
	}
	return fmt.Errorf("process %d failed: %w", w.Number, w.err)
}

// Finish has the process close its session, and returns when it has ended.
func (w *Worker) Finish() error {
	if err := w.in.Close(); err != nil {
		return err
	}
	return w.Failure()
}
