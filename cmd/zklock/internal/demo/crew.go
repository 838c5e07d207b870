package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// worker is one process and what it has reported.
type worker struct {
	number int // counted from 1
	cmd    *exec.Cmd
	in     io.WriteCloser
	events *json.Decoder

	values []int // that it wrote to the file
	waits  []time.Duration
	killed bool // by us, in the section that it stayed in
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

func (w *worker) String() string { return fmt.Sprintf("process %d (pid %d)", w.number, w.pid()) }

// start starts a worker process by the command line, which waits for begin.
func start(ctx context.Context, command []string, number int, j job) (*worker, error) {
	arg, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	w := &worker{number: number, cmd: exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], string(arg))...)}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.events = json.NewDecoder(out)
	return w, w.cmd.Start()
}

func (w *worker) begin() error {
	_, err := w.in.Write([]byte{'\n'})
	return err
}

// listen passes on what the process reports, and returns when it has ended.
func (w *worker) listen(report func(event)) error {
	for {
		var e event
		switch err := w.events.Decode(&e); {
		case err == nil:
			report(e)
		case errors.Is(err, io.EOF):
			return w.cmd.Wait()
		default:
			return errors.Join(err, w.cmd.Process.Kill(), w.cmd.Wait())
		}
	}
}

// crew is a group of workers at the same file.
type crew struct {
	workers []*worker
	screen  *screen

	starting int // workers that are not ready yet
	planned  int // increments
	began    time.Time
	took     time.Duration
	killed   time.Time     // when a holder was killed, if one was
	stall    time.Duration // from then to the next increment
	counter  int           // the number in the file at the end
}

// report is an event of a worker, or its end.
type report struct {
	from  *worker
	event *event
	end   error // why the process ended, if event is nil; nil if by itself
}

// run runs one process by the command line for each job, on a new file that holds
// 0, and returns when all have ended. If one fails, run ends the others and returns an error.
func run(ctx context.Context, screen *screen, command []string, file string, jobs []job) (*crew, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := os.WriteFile(file, formatted(0), 0o644); err != nil {
		return nil, err
	}

	c := &crew{screen: screen, starting: len(jobs)}
	reports := make(chan report)
	for i, j := range jobs {
		j.Counter = file
		w, err := start(ctx, command, i+1, j)
		if err != nil {
			cancel(fmt.Errorf("start process %d: %w", i+1, err))
			break
		}
		c.workers = append(c.workers, w)
		c.planned += j.increments()
		go func() {
			err := w.listen(func(e event) { reports <- report{from: w, event: &e} })
			reports <- report{from: w, end: err}
		}()
	}
	for running := len(c.workers); running > 0; {
		r := <-reports
		if r.event == nil {
			running--
		}
		if err := c.take(r); err != nil {
			cancel(fmt.Errorf("%v: %w", r.from, err))
		}
	}
	c.took = time.Since(c.began)
	c.screen.progress(c.made(), c.planned, true)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c.counter, err = parse(text)
	return c, err
}

// take records a report, and acts on it where that is due.
func (c *crew) take(r report) error {
	w, e := r.from, r.event
	if e == nil {
		if w.killed {
			return nil
		}
		return r.end
	}
	switch e.Kind {
	case ready:
		c.starting--
		if c.starting == 0 {
			return c.begin()
		}
	case wrote:
		w.values = append(w.values, e.Value)
		w.waits = append(w.waits, e.Waited)
		c.screen.progress(c.made(), c.planned, false)
		// Reports of different workers may overtake one another.
		if c.stall == 0 && !c.killed.IsZero() && e.At.After(c.killed) {
			c.stall = e.At.Sub(c.killed)
			c.screen.say("  The lock moved on %s after the kill.", tidy(c.stall))
		}
	case staying:
		w.waits = append(w.waits, e.Waited)
		w.killed = true
		c.killed = time.Now()
		c.screen.say("  %v holds the lock, in its section %d, and is killed there (kill -9).", w, len(w.waits))
		return w.cmd.Process.Kill()
	}
	return nil
}

func (c *crew) begin() error {
	c.began = time.Now()
	for _, w := range c.workers {
		if err := w.begin(); err != nil {
			return err
		}
	}
	return nil
}

// made is how many increments the workers have made.
func (c *crew) made() int {
	n := 0
	for _, w := range c.workers {
		n += len(w.values)
	}
	return n
}
