package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// leash is a server process that ends with this one, even if this one is
// killed: the shell that started it waits for the end of a pipe whose other end
// is here, and kills it.
type leash struct {
	shell *exec.Cmd
	end   *os.File
	log   *output
}

const leashScript = `trap '' HUP; "$@" </dev/null & read -r _; kill -9 $!; wait`

func start(argv ...string) (*leash, error) {
	in, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	l := &leash{end: end, log: new(output)}
	l.shell = exec.Command("/bin/sh", append([]string{"-c", leashScript, "sh"}, argv...)...)
	l.shell.Stdin, l.shell.Stdout, l.shell.Stderr = in, l.log, l.log
	l.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process to deal with
	if err := l.shell.Start(); err != nil {
		end.Close()
		return nil, err
	}
	return l, nil
}

func (l *leash) kill() {
	l.end.Close()
	_ = l.shell.Wait() // the error says that what it waited for was killed
}

// await returns when a connection to addr is accepted.
func (l *leash) await(ctx context.Context, addr string) error {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("rig: %v does not serve: %w; it has said:\n%s", l.shell.Args[4:], errors.Join(ctx.Err(), err), l.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// freeAddr returns an address of which nobody is known to listen.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// output is what a process has said, its end at least.
type output struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	const enough = 8 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said.Len() > enough {
		o.said.Reset()
	}
	return o.said.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}
