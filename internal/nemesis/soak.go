package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
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
	Length    time.Duration // at least; each kind of fault strikes once however long that takes
	Seed      uint64
	Pictures  string // directory for what is drawn of bad histories
	Progress  func(format string, args ...any)

	tb      apachezk.TB
	ctx     context.Context // ends with the failure of a worker, as its cause
	abort   context.CancelCauseFunc
	began   Instant
	store   string
	history *History
	strokes strokes
	crew    []*member
	started int // workers, of which some were killed
}

// member is a place for a worker: when one is killed, the next takes it.
type member struct {
	doors  Doors
	worker *Worker
}

// Run runs the soak and judges it. An error says that it could not be run to its
// end; the violations are in the report.
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
	if err := s.assemble(); err != nil {
		return nil, err
	}
	if err := s.suffer(); err != nil {
		return nil, err
	}
	for _, m := range s.crew {
		if err := m.worker.Tell(commandStop); err != nil {
			return nil, err
		}
	}
	for _, m := range s.crew {
		if err := m.worker.Await(stateIdle); err != nil {
			return nil, err
		}
	}
	left, err := s.leave()
	if err != nil {
		return nil, err
	}
	return s.judge(left)
}

// leave ends the processes, and returns what they leave.
func (s *Soak) leave() (Remains, error) {
	// Killed processes leave their nodes for as long as their sessions last.
	ctx, limit := context.Background(), s.Timeout+tick+slack
	left, err := s.Cluster.Remains(ctx, soakRoot, limit)
	if err != nil {
		return left, err
	}
	unwanted, err := s.Cluster.Sessions(ctx, len(s.crew), limit)
	if err != nil {
		return left, err
	}
	for _, m := range s.crew {
		if err := m.worker.Finish(); err != nil {
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

func (s *Soak) assemble() error {
	var starting errgroup.Group
	for range s.Processes {
		m := &member{doors: OpenDoors(s.tb, s.Cluster.Servers()...)}
		s.crew = append(s.crew, m)
		if err := s.launch(m); err != nil {
			return err
		}
		starting.Go(func() error { return m.worker.Await(stateReady) })
	}
	return starting.Wait()
}

// launch starts a worker in a place.
func (s *Soak) launch(m *member) (err error) {
	s.started++
	m.worker, err = StartWorker(s.tb, Job{
		Process: s.started, Addrs: m.doors.Addrs(), Timeout: s.Timeout,
		Seed: s.Seed, Began: s.began, Store: s.store,
	}, s.history)
	if err != nil {
		return err
	}
	w := m.worker
	go func() {
		if err := w.Failure(); err != nil {
			s.abort(err)
		}
	}()
	return nil
}

func (s *Soak) replace(m *member) error {
	if err := s.launch(m); err != nil {
		return err
	}
	return m.worker.Await(stateReady)
}

func (s *Soak) member(dice *rand.Rand) *member { return s.crew[dice.IntN(len(s.crew))] }

// nemeses strike side by side, each with faults of its own.
var nemeses = [][]fault{serverFaults, processFaults}

// suffer lets the nemeses loose.
func (s *Soak) suffer() error {
	lanes, ctx := errgroup.WithContext(s.ctx)
	for lane, faults := range nemeses {
		dice := rand.New(rand.NewPCG(s.Seed, uint64(lane)))
		lanes.Go(func() error { return s.nemesis(ctx, dice, faults) })
	}
	err := s.reportWhile(lanes.Wait)
	return errors.Join(err, context.Cause(s.ctx))
}

// reportWhile says how far the run is until f returns.
func (s *Soak) reportWhile(f func() error) error {
	ctx, cancel := context.WithCancel(s.ctx)
	var reporting sync.WaitGroup
	reporting.Go(func() {
		for pause(ctx, 5*time.Second) == nil {
			s.Progress("%4.0fs  %d holds, %d faults", Since(s.began).Seconds(), s.history.holds(), s.strokes.count())
		}
	})
	defer reporting.Wait()
	defer cancel()
	return f()
}

// judge takes the history to the checkers.
func (s *Soak) judge(left Remains) (*Report, error) {
	attempts, updates := s.history.Attempts(), s.history.Updates()
	final, err := s.registers(updates)
	if err != nil {
		return nil, err
	}
	s.Progress("judging %d attempts", len(attempts))
	r := newReport(attempts, updates, s.strokes.all)
	r.Violations, r.Diverged = append(r.Violations, left.Left...), left.Diverged
	r.Violations = append(r.Violations, Overlaps(attempts)...)
	r.Violations = append(r.Violations, Linearize(attempts, s.strokes.all, s.Pictures)...)
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
