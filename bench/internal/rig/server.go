package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/warden"
)

// server is a process that ends with this one, even if this one is killed.
type server struct {
	cmd    *exec.Cmd
	warden *warden.Warden
	log    *output
}

func start(argv ...string) (*server, error) {
	w, err := warden.New()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(argv[0], argv[1:]...), warden: w, log: new(output)}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	w.Adopt(s.cmd)
	if err := s.cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return s, nil
}

func (s *server) kill() {
	s.warden.Close()
	_ = s.cmd.Wait() // it was killed, and says so
}

// await returns when a connection to addr is accepted.
func (s *server) await(ctx context.Context, addr string) error {
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
			return fmt.Errorf("rig: %v does not serve: %w; it has said:\n%s", s.cmd.Args, errors.Join(ctx.Err(), err), s.log)
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
