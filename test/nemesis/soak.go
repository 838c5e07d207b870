package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock/internal/apachezk"
)

// Soak is a run of several processes that use locks of all kinds, under faults.
type Soak struct {
	Cluster   *Cluster
	Processes int
	Timeout   time.Duration // of the sessions
	Length    time.Duration // at least; each fault comes once however long that takes
	Plan      func() error  // what happens instead of the faults, by During; not nil, and neither Length nor the faults count
	Seed      uint64
	Pictures  string // directory for what is drawn of bad histories
	Progress  func(format string, args ...any)

	tb      apachezk.TB
	ctx     context.Context // ends with the failure of a worker, as its cause
	abort   context.CancelCauseFunc
	began   Instant
	store   string
	history *History
	workers []*worker
	started int // workers, of which some were killed
}

// worker is the process at one end of some links: when it is killed, the next takes
// its place.
type worker struct {
	*Worker
	links Links
}

// Run runs the soak and checks its history. An error says that it could not be run
// to its end; the violations are in the report.
func (s *Soak) Run(tb apachezk.TB) (*Report, error) {
	s.tb, s.began, s.history = tb, Now(), NewHistory()
	dir, err := os.MkdirTemp("", "zklock-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s.store = dir
	s.ctx, s.abort = context.WithCancelCause(context.Background())
	defer s.abort(nil)
	if err := s.setUp(); err != nil {
		return nil, err
	}
	if err := s.injectFaults(); err != nil {
		return nil, err
	}
	for _, w := range s.workers {
		if err := w.Tell(commandStop); err != nil {
			return nil, err
		}
	}
	for _, w := range s.workers {
		if err := w.Await(stateIdle); err != nil {
			return nil, err
		}
	}
	left, err := s.tearDown()
	if err != nil {
		return nil, err
	}
	return s.check(left)
}

// tearDown ends the processes, and returns what they leave.
func (s *Soak) tearDown() (Remains, error) {
	// Killed processes leave their nodes for as long as their sessions last.
	ctx, limit := context.Background(), s.Timeout+tick+slack
	left, err := s.Cluster.Remains(ctx, soakRoot, limit)
	if err != nil {
		return left, err
	}
	unwanted, err := s.Cluster.Sessions(ctx, len(s.workers), limit)
	if err != nil {
		return left, err
	}
	for _, w := range s.workers {
		if err := w.Finish(); err != nil {
			return left, err
		}
	}
	// Those that are closed go at once, not with their timeout.
	open, err := s.Cluster.Sessions(ctx, 0, s.Timeout/2)
	left.Left = append(append(left.Left, unwanted...), open...)
	return left, err
}

// slack is for a machine that is busy.
const slack = 10 * time.Second

func (s *Soak) setUp() error {
	var starting errgroup.Group
	for range s.Processes {
		w := &worker{links: OpenLinks(s.tb, s.Cluster.Servers()...)}
		s.workers = append(s.workers, w)
		if err := s.launch(w); err != nil {
			return err
		}
		starting.Go(func() error { return w.Await(stateReady) })
	}
	return starting.Wait()
}

// launch starts a process.
func (s *Soak) launch(w *worker) error {
	s.started++
	process, err := StartWorker(s.tb, Job{
		Process: s.started, Addrs: w.links.Addrs(), Timeout: s.Timeout,
		Seed: s.Seed, Began: s.began, Store: s.store,
	}, s.history)
	if err != nil {
		return err
	}
	w.Worker = process
	go func() {
		if err := process.Failure(); err != nil {
			s.abort(err)
		}
	}()
	return nil
}

// injectFaults runs the nemeses, or what is planned.
func (s *Soak) injectFaults() error {
	if s.Plan != nil {
		return errors.Join(s.Plan(), context.Cause(s.ctx))
	}
	running, ctx := errgroup.WithContext(s.ctx)
	for i, faults := range nemeses {
		rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		running.Go(func() error { return s.nemesis(ctx, rng, faults) })
	}
	return errors.Join(running.Wait(), context.Cause(s.ctx))
}

// check takes the history to the checkers.
func (s *Soak) check(left Remains) (*Report, error) {
	ops, updates, faults := s.history.Ops(), s.history.Updates(), s.history.Injections()
	final, err := s.registers(updates)
	if err != nil {
		return nil, err
	}
	s.Progress("%4.0fs  %d ops to check", Since(s.began).Seconds(), len(ops))
	r := newReport(ops, updates, faults)
	r.Violations, r.Diverged = append(r.Violations, left.Left...), left.Diverged
	r.Violations = append(r.Violations, Linearizable(ops, faults, s.Pictures)...)
	r.Violations = append(r.Violations, LostUpdates(updates, final)...)
	return r, nil
}

// registers returns what the registers hold at the end.
func (s *Soak) registers(updates []Update) (map[string]int, error) {
	conn, err := dial(s.Cluster.Server(0).Addr())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Sync(soakRoot); err != nil {
		return nil, err
	}
	final := make(map[string]int)
	for _, u := range updates {
		if _, known := final[u.Register]; known {
			continue
		}
		if final[u.Register], err = s.register(conn, u.Register); err != nil {
			return nil, err
		}
	}
	return final, nil
}

func (s *Soak) register(conn *zk.Conn, name string) (value int, err error) {
	if strings.HasPrefix(name, s.store) {
		err := store(name).locked(func(_ *os.File, _ int64, v int) error { value = v; return nil })
		return value, err
	}
	data, _, err := conn.Get(name)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("read %s", name), err)
	}
	_, err = fmt.Sscan(string(data), &value)
	return value, err
}
