// Package driver starts the programs that do the parties' work, in whatever
// language, and tells them what to do.
package driver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/zklock/zklock/bench/internal/line"
)

// Process is a running worker. It does one thing at a time, stays warm between
// them, and ends when its standard input does, so at the latest with this
// process.
type Process struct {
	Version string

	name    string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies chan string // closed when the worker has ended
}

// start runs a worker; what it has to complain about goes to standard error.
func start(ctx context.Context, name string, argv ...string) (*Process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process to deal with
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, cmd: cmd, stdin: stdin, replies: make(chan string)}
	go p.listen(stdout)
	reply, err := p.ask(ctx, line.Message{Word: "version"})
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Version = reply.Fields["version"]
	return p, nil
}

func (p *Process) listen(stdout io.Reader) {
	defer close(p.replies)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		p.replies <- lines.Text()
	}
}

// Close ends the worker.
func (p *Process) Close() {
	p.stdin.Close()
	_ = p.cmd.Process.Kill() // in case it does not listen
	for range p.replies {
	}
	_ = p.cmd.Wait() // it was killed, and says so
}

// Do tells the worker what to do and returns the numbers that it measured.
func (p *Process) Do(ctx context.Context, word string, fields map[string]string) (map[string]float64, error) {
	reply, err := p.ask(ctx, line.Message{Word: word, Fields: fields})
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]float64, len(reply.Fields))
	for key, text := range reply.Fields {
		if numbers[key], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.name, word, err)
		}
	}
	return numbers, nil
}

// ask gives up on a worker when ctx ends: it is of no use afterwards.
func (p *Process) ask(ctx context.Context, m line.Message) (line.Message, error) {
	if _, err := io.WriteString(p.stdin, m.String()+"\n"); err != nil {
		return line.Message{}, fmt.Errorf("%s: %w", p.name, err)
	}
	select {
	case text, ok := <-p.replies:
		if !ok {
			return line.Message{}, fmt.Errorf("%s: the worker ended during %q", p.name, m)
		}
		reply, err := line.Parse(text)
		if err == nil && reply.Word == "error" {
			err = errors.New(reply.Fields["text"])
		}
		if err != nil {
			return line.Message{}, fmt.Errorf("%s: %s: %w", p.name, m.Word, err)
		}
		return reply, nil
	case <-ctx.Done():
		return line.Message{}, fmt.Errorf("%s: %s: %w", p.name, m.Word, context.Cause(ctx))
	}
}
