//go:build unix

package apachezk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/warden"
)

const (
	startPatience = 2 * time.Minute
	probeInterval = 10 * time.Millisecond
	// leaderPatience is how long a survey of the ensemble waits for each server, at
	// first: on a busy machine those that run may need more.
	leaderPatience = 500 * time.Millisecond
)

var errPortTaken = errors.New("port taken by somebody else")

// Server is one server of an ensemble. Its methods may be called from several
// goroutines.
type Server struct {
	id      int
	ports   ports
	dir     string
	warden  *warden.Warden
	routing []string // flags by which its connections to the others are routed

	mu           sync.Mutex // guards what follows
	installation Installation
	config       Config
	argv         []string // of the next start
	process      *process // nil before the first start
}

// ID returns the server's number in the ensemble, counted from 1.
func (s *Server) ID() int { return s.id }

// Addr returns the host:port at which clients reach the server.
func (s *Server) Addr() string { return hostPort(s.ports.client) }

// Member returns the server's line for a reconfiguration that has it join.
func (s *Server) Member() string { return fmt.Sprintf("server.%d=%s", s.id, s.ports.member()) }

// SecureAddr returns the host:port at which clients reach a server with
// Config.Secure by TLS.
func (s *Server) SecureAddr() string { return hostPort(s.ports.secure) }

// LogPath returns the name of the file to which the server logs.
func (s *Server) LogPath() string { return filepath.Join(s.dir, "zookeeper.log") }

// Launch starts the server, on the same ports and data as before, without
// waiting until it serves. It is an error if the server runs.
func (s *Server) Launch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && !s.process.ended() {
		return fmt.Errorf("apachezk: server %d runs already", s.id)
	}
	p, err := launch(s.warden, s.LogPath(), s.argv)
	if err != nil {
		return fmt.Errorf("apachezk: start server %d: %w", s.id, err)
	}
	s.process = p
	return nil
}

// Await returns when the server has opened a session and served a request in
// it, which in an ensemble takes a majority of the servers. It gives up after
// two minutes.
func (s *Server) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil {
		return fmt.Errorf("apachezk: server %d was never started", s.id)
	}
	retry := time.NewTicker(probeInterval)
	defer retry.Stop()
	patience := 50 * time.Millisecond
	for {
		err := s.probe(ctx, patience)
		if err == nil {
			return nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			// A server that is just starting may leave a connection without an
			// answer for ever, one on a busy machine takes its time.
			patience = min(2*patience, 10*time.Second)
		}
		select {
		case <-p.done:
			return s.explainEnd(p)
		case <-ctx.Done():
			log, _ := s.logTail()
			return fmt.Errorf("apachezk: server %d is not ready: %w: %w; it has said:\n%s", s.id, context.Cause(ctx), err, log)
		case <-retry.C:
		}
	}
}

// Start is Launch and Await.
func (s *Server) Start(ctx context.Context) error {
	if err := s.Launch(); err != nil {
		return err
	}
	return s.Await(ctx)
}

// Restart is Kill and Start.
func (s *Server) Restart(ctx context.Context) error {
	s.Kill()
	return s.Start(ctx)
}

// Kill ends the server with SIGKILL and returns when the process is gone.
// A server that does not run is left alone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.kill()
	}
}

// Pause stops the server with SIGSTOP and returns when it has stopped: its
// connections stay open and are silent.
func (s *Server) Pause() error { return s.withProcess((*process).pause) }

// Continue ends what Pause began.
func (s *Server) Continue() error { return s.withProcess((*process).resume) }

func (s *Server) withProcess(do func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("apachezk: server %d was never started", s.id)
	}
	if err := do(s.process); err != nil {
		return fmt.Errorf("apachezk: server %d: %w", s.id, err)
	}
	return nil
}

func (s *Server) probe(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// If our server could not bind its port, whoever did may be a ZooKeeper too.
	conf, err := ask(ctx, s.Addr(), "conf")
	if err != nil {
		return err
	}
	if !strings.Contains(conf, s.dir) {
		return fmt.Errorf("%s is not this server, or not yet: conf says %q", s.Addr(), conf)
	}
	session, err := openSession(ctx, s.Addr(), time.Second, 0)
	if err != nil {
		return err
	}
	err = session.sync()
	if errors.Is(err, demandsLogin) {
		session.disconnect()
		return nil
	}
	return orCause(ctx, errors.Join(err, session.close()))
}

// explainEnd is for a server that ended when it should have come up.
func (s *Server) explainEnd(p *process) error {
	log, err := s.logTail()
	if err != nil {
		return fmt.Errorf("apachezk: server %d ended, %v: %w", s.id, p.cmd.ProcessState, err)
	}
	if strings.Contains(log, "Address already in use") {
		return fmt.Errorf("apachezk: server %d: %w", s.id, errPortTaken)
	}
	return fmt.Errorf("apachezk: server %d ended, %v, having said:\n%s", s.id, p.cmd.ProcessState, log)
}

// logTail returns the last lines of the server's log.
func (s *Server) logTail() (string, error) {
	const enough = 8 << 10
	log, err := os.ReadFile(s.LogPath())
	if err != nil {
		return "", err
	}
	if len(log) <= enough {
		return string(log), nil
	}
	_, whole, _ := strings.Cut(string(log[len(log)-enough:]), "\n")
	return whole, nil
}
