package sim

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/zktest"
)

// machine is a process with its session, which may be closed and made anew.
type machine struct {
	world   *world
	spec    Machine
	name    string
	place   *zktest.Client
	clock   clock.Clock
	dials   atomic.Int64 // connections made
	forget  atomic.Bool  // the next connect gets a new session
	proxied atomic.Bool  // something accepts connections for servers that are away

	mu     sync.Mutex
	latest *incarnation
	opened chan struct{} // closed when latest is set
}

// incarnation is one session of a machine, with its Lockers.
type incarnation struct {
	session *zklock.Session
	locks   []*lock     // by the program's number; nil for other machines'
	closing atomic.Bool // Close has been called
}

func newMachine(w *world, i int) *machine {
	name := fmt.Sprintf("m%d", i)
	return &machine{
		world: w, spec: w.program.Machines[i], name: name,
		place:  w.ensemble.Client(name),
		opened: make(chan struct{}),
	}
}

// open connects, however long it takes, unless the world ends first.
func (m *machine) open(index int) error {
	for m.world.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(m.world.ctx, 10*time.Second)
		start := time.Now()
		s, err := zklock.Connect(clock.With(ctx, &m.clock), m.world.ensemble.PipeAddrs(), m.spec.Timeout, m.options()...)
		if late(time.Since(start), 10*time.Second) {
			m.world.referee.fail("P5", "Connect of %s returned after %v", m.name, time.Since(start))
		}
		cancel()
		if err != nil {
			m.world.log.note(m.name, "Connect: %v", err)
			continue
		}
		inc := &incarnation{session: s}
		for _, spec := range m.world.program.Lockers {
			var l *lock
			if spec.Machine == index {
				if l, err = newLock(s, spec); err != nil {
					return err
				}
			}
			inc.locks = append(inc.locks, l)
		}
		m.mu.Lock()
		m.latest = inc
		close(m.opened)
		m.mu.Unlock()
		return nil
	}
	return m.world.ctx.Err()
}

func (m *machine) options() []zklock.SessionOption {
	opts := []zklock.SessionOption{
		zklock.WithDialer(m.dial),
		zklock.WithLogger(slog.New(&logTo{m.world.log, m.name})),
	}
	if m.spec.Auth {
		opts = append(opts, zklock.WithAuth("digest", []byte("user:secret")))
	}
	return opts
}

func (m *machine) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	dial := zk.Dialer(m.place.Dial)
	if m.proxied.Load() {
		dial = accepting(dial)
	}
	conn, err := dial(network, address, timeout)
	if err != nil {
		return nil, err
	}
	m.dials.Add(1)
	return &forgetful{Conn: conn, forget: &m.forget}, nil
}

// current waits for an open session; nil when the world ends.
func (m *machine) current() *incarnation {
	for {
		m.mu.Lock()
		inc, opened := m.latest, m.opened
		m.mu.Unlock()
		if inc != nil {
			return inc
		}
		select {
		case <-opened:
		case <-m.world.ctx.Done():
			return nil
		}
	}
}

// close closes the session. Calm says that the network is well, so that the
// server has to confirm it. It returns false if there is none to close.
func (m *machine) close(calm bool) bool {
	m.mu.Lock()
	inc := m.latest
	if inc != nil {
		m.latest, m.opened = nil, make(chan struct{})
	}
	m.mu.Unlock()
	if inc == nil {
		return false
	}
	m.world.referee.closing(inc)
	start, id := time.Now(), inc.session.ID()
	m.world.log.note(m.name, "Close")
	err := inc.session.Close()
	m.world.log.note(m.name, "Close returned %v", err)
	if took := time.Since(start); took > 3*time.Second {
		m.world.referee.fail("P6", "Close of %s took %v", m.name, took)
	}
	if calm && err != nil && !m.world.referee.isExpired(id) {
		m.world.referee.fail("P6", "Close of %s without any fault: %v", m.name, err)
	}
	return true
}

// id returns the id of the machine's ZooKeeper session, 0 if it has none.
func (m *machine) id() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return 0
	}
	return m.latest.session.ID()
}

// logTo is a slog.Handler that writes into the timeline.
type logTo struct {
	log *timeline
	who string
}

func (l *logTo) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *logTo) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logTo) WithGroup(string) slog.Handler                    { return l }

func (l *logTo) Handle(_ context.Context, r slog.Record) error {
	l.log.note(l.who, "log: %s%v", r.Message, attrs(r))
	return nil
}

// attrs are a record's attributes, to be put into words when they are printed.
type attrs slog.Record

func (a attrs) String() string {
	text := ""
	slog.Record(a).Attrs(func(attr slog.Attr) bool {
		if id, ok := attr.Value.Any().(int64); ok && attr.Key == "session" {
			text += fmt.Sprintf(" session=%#x", id)
		} else {
			text += fmt.Sprintf(" %s=%v", attr.Key, attr.Value)
		}
		return true
	})
	return text
}
