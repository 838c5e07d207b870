//go:build unix

// Package apachezk runs Apache ZooKeeper servers for tests and demonstrations:
// a standalone server or an ensemble on the ports of the loopback interface,
// with the data in a temporary directory. Servers can be killed, paused and
// restarted, and they never outlive the process that started them.
package apachezk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock/internal/warden"
)

// Ensemble is a set of servers that replicate the same data, or a single one.
type Ensemble struct {
	ports     *reservation
	warden    *warden.Warden
	servers   []*Server
	peerings  []*peering
	logging   string // directory of the servers' logging configuration
	temporary string // a directory to remove, if not empty
	stop      sync.Once
}

// Start starts the servers that cfg describes and returns when all of them
// serve. ErrNotInstalled is in the chain of its error if this machine has no
// ZooKeeper or no Java.
func Start(ctx context.Context, cfg Config) (*Ensemble, error) {
	installation, err := Find()
	if err != nil {
		return nil, err
	}
	for range 5 {
		var e *Ensemble
		e, err = start(ctx, installation, cfg.withDefaults())
		if !errors.Is(err, errPortTaken) {
			return e, err
		}
	}
	return nil, err
}

func start(ctx context.Context, installation Installation, cfg Config) (*Ensemble, error) {
	e := &Ensemble{}
	if err := e.prepare(installation, cfg); err != nil {
		e.Stop()
		return nil, fmt.Errorf("apachezk: prepare servers: %w", err)
	}
	starting, ctx := errgroup.WithContext(ctx)
	for _, s := range e.servers[:cfg.Servers] {
		starting.Go(func() error { return s.Start(ctx) })
	}
	if err := starting.Wait(); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

// prepare acquires all that the servers need.
func (e *Ensemble) prepare(installation Installation, cfg Config) (err error) {
	if cfg.Dir == "" {
		if cfg.Dir, err = os.MkdirTemp("", "apachezk-"); err != nil {
			return err
		}
		e.temporary = cfg.Dir
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return err
	}
	e.logging = filepath.Join(cfg.Dir, "conf")
	if err := writeLogging(e.logging); err != nil {
		return err
	}
	if e.ports, err = reservePorts(cfg.Servers + cfg.Spares); err != nil {
		return err
	}
	if e.warden, err = warden.New(); err != nil {
		return err
	}
	for i, ports := range e.ports.servers {
		s := &Server{
			id: i + 1, ports: ports, warden: e.warden, installation: installation, config: cfg,
			dir: filepath.Join(cfg.Dir, fmt.Sprintf("server-%d", i+1)),
		}
		if cfg.Route != nil {
			p, err := newPeering(s.id, e.ports.servers, cfg.Route)
			if err != nil {
				return err
			}
			e.peerings = append(e.peerings, p)
			s.routing = p.jvmFlags()
		}
		if err := e.configure(s); err != nil {
			return err
		}
		e.servers = append(e.servers, s)
	}
	return nil
}

// configure prepares a server's next start.
func (e *Ensemble) configure(s *Server) error {
	zooCfg, err := s.config.writeFiles(s.dir, s.id, e.ports.servers)
	s.argv = s.installation.command(e.logging, append(s.config.jvmFlags(), s.routing...), zooCfg)
	return err
}

// Change has the server run another installation, that of ZOOKEEPER_HOME home unless that is empty, and another Config, from
// its next start on. Its ports and its data stay. What is about the whole ensemble must not change: Servers, Spares, Route, Dir.
func (e *Ensemble) Change(s *Server, home string, change func(*Config)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if home != "" {
		jars, err := releaseJars(home)
		if err != nil {
			return err
		}
		s.installation.Classpath = jars
	}
	change(&s.config)
	return e.configure(s)
}

// Stop kills all servers. It may be called again.
func (e *Ensemble) Stop() {
	e.stop.Do(func() {
		for _, s := range e.servers {
			s.Kill()
		}
		if e.warden != nil {
			e.warden.Close()
		}
		for _, p := range e.peerings {
			p.close()
		}
		if e.ports != nil {
			e.ports.release()
		}
		if e.temporary != "" {
			_ = os.RemoveAll(e.temporary) // worth no failed test
		}
	})
}

// Addrs returns the addresses of all servers.
func (e *Ensemble) Addrs() []string {
	addrs := make([]string, len(e.servers))
	for i, s := range e.servers {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Servers returns all servers, in the order of their IDs.
func (e *Ensemble) Servers() []*Server { return e.servers }

// Server returns the server at index i, counted from 0.
func (e *Ensemble) Server(i int) *Server { return e.servers[i] }

// Leader waits until a server says that it leads, or stands alone, and
// returns it. Of two it returns the one that leads the later epoch: a leader
// that was cut off learns of its successor late.
func (e *Ensemble) Leader(ctx context.Context) (*Server, error) {
	retry := time.NewTicker(probeInterval)
	defer retry.Stop()
	for began := time.Now(); ; {
		if leader := e.leader(ctx, leaderPatience+time.Since(began)/8); leader != nil {
			return leader, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("apachezk: no leader: %w", context.Cause(ctx))
		case <-retry.C:
		}
	}
}

// leader asks all servers at once, because those that are paused do not answer.
func (e *Ensemble) leader(ctx context.Context, patience time.Duration) *Server {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
		leader *Server
		latest int64 = -1
	)
	for _, s := range e.servers {
		asking.Go(func() {
			mode, epoch, err := s.role(ctx)
			if err != nil || mode != "leader" && mode != "standalone" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if epoch > latest {
				leader, latest = s, epoch
			}
		})
	}
	asking.Wait()
	return leader
}

// TB is what Run uses of testing.TB.
type TB interface {
	Helper()
	Cleanup(cleanup func())
	Context() context.Context
	Failed() bool
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run starts an ensemble for the duration of a test. configure may change the
// Config, which describes one server at first. On a machine without ZooKeeper
// the test is skipped. If the test fails, the ends of the servers' logs are
// logged.
func Run(tb TB, configure ...func(*Config)) *Ensemble {
	tb.Helper()
	if _, err := Find(); err != nil {
		tb.Skipf("needs a real ZooKeeper: %v", err)
	}
	var cfg Config
	for _, change := range configure {
		change(&cfg)
	}
	e, err := Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("start ZooKeeper: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			e.logTo(tb)
		}
		e.Stop()
	})
	return e
}

func (e *Ensemble) logTo(tb TB) {
	for _, s := range e.servers {
		log, err := s.logTail()
		if err != nil {
			tb.Logf("no log of server %d: %v", s.id, err)
			continue
		}
		tb.Logf("end of the log of server %d:\n%s", s.id, log)
	}
}
