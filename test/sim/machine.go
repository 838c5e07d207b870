package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/faultproxy"
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
	dialed  atomic.Int64 // when the last dial ended, in Unix nanoseconds
	forget  atomic.Bool  // the next connect gets a new session
	proxied atomic.Bool  // something accepts connections for servers that are away

	mu     sync.Mutex
	latest *incarnation
	opened chan struct{} // closed when latest is set
}

// incarnation is one session of a machine, with its Lockers.
type incarnation struct {
	session *zklock.Session
	second  *zklock.Session // for a MultiLocker of two sessions; nil if there is none
	locks   []*lock         // by the program's number; nil for other machines'
	closing atomic.Bool     // Close or Shutdown has been called
	until   atomic.Int64    // when Shutdown gives up, in Unix nanoseconds; 0 if Close was called
	closed  atomic.Bool     // ... and has returned
}

// ends reports whether whatever the sessions hold is over, be it given back or not.
func (inc *incarnation) ends() bool {
	return inc.closing.Load() && time.Now().UnixNano() >= inc.until.Load()
}

func (inc *incarnation) sessions() []*zklock.Session {
	if inc.second == nil {
		return []*zklock.Session{inc.session}
	}
	return []*zklock.Session{inc.session, inc.second}
}

// owns reports whether the session of that id is the incarnation's.
func (inc *incarnation) owns(id int64) bool {
	return slices.ContainsFunc(inc.sessions(), func(s *zklock.Session) bool { return s.ID() == id })
}

// nameOf is the name of a machine.
func nameOf(machine int) string { return fmt.Sprintf("m%d", machine) }

func newMachine(w *world, i int) *machine {
	name := nameOf(i)
	return &machine{
		world: w, spec: w.program.Machines[i], name: name,
		place:  w.ensemble.Client(name),
		opened: make(chan struct{}),
	}
}

// open connects, and makes the machine's locks, unless the world ends first.
func (m *machine) open(index int) (err error) {
	own := func(l LockerSpec) bool { return l.Machine == index }
	inc := new(incarnation)
	if inc.session, err = m.connect(); err != nil {
		return err
	}
	if slices.ContainsFunc(m.world.program.Lockers, func(l LockerSpec) bool { return own(l) && l.Apart }) {
		if inc.second, err = m.connect(); err != nil {
			inc.session.Close()
			return err
		}
	}
	for _, spec := range m.world.program.Lockers {
		var l *lock
		if own(spec) {
			if l, err = inc.newLock(m.world.checker, spec); err != nil {
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

// connect connects, however long it takes, unless the world ends first.
func (m *machine) connect() (*zklock.Session, error) {
	for m.world.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(m.world.ctx, 10*time.Second)
		start := time.Now()
		s, err := zklock.Connect(clock.With(ctx, &m.clock), m.world.ensemble.PipeAddrs(), m.spec.Timeout, m.options()...)
		if late(time.Since(start), 10*time.Second) && late(m.sinceDial(), 0) {
			m.world.checker.fail("P5", "Connect of %s returned after %v", m.name, time.Since(start))
		}
		cancel()
		if err == nil {
			return s, nil
		}
		m.world.log.note(m.name, "Connect: %v", err)
	}
	return nil, m.world.ctx.Err()
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

// sinceDial returns for how long no dial has ended: Connect waits for one of a user's dialer.
func (m *machine) sinceDial() time.Duration { return time.Since(time.Unix(0, m.dialed.Load())) }

func (m *machine) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	defer func() { m.dialed.Store(time.Now().UnixNano()) }()
	dial := zk.Dialer(m.place.Dial)
	if m.proxied.Load() {
		dial = accepting(dial)
	}
	conn, err := dial(network, address, timeout)
	if err != nil {
		return nil, err
	}
	m.dials.Add(1)
	if slow := m.world.program.Cluster.Slow; slow > 0 {
		conn = faultproxy.Granting(conn, func(granted time.Duration) time.Duration {
			return time.Duration(float64(granted) / (1 + slow)) // its clock is slow
		})
	}
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
	return m.endBy(0, func(s *zklock.Session) { m.closeSession(s, calm) })
}

// shutDown closes the session when its locks have been given back, or after that time.
func (m *machine) shutDown(patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(m.world.ctx, patience)
	defer cancel()
	return m.endBy(patience, func(s *zklock.Session) {
		m.shutDownSession(ctx, s)
		m.closeSession(s, false)
	})
}

// endBy has end close each of the machine's sessions, within that time.
func (m *machine) endBy(patience time.Duration, end func(*zklock.Session)) bool {
	m.mu.Lock()
	inc := m.latest
	if inc != nil {
		m.latest, m.opened = nil, make(chan struct{})
	}
	m.mu.Unlock()
	if inc == nil {
		return false
	}
	if patience > 0 {
		inc.until.Store(time.Now().Add(patience).UnixNano())
	}
	m.world.checker.closing(inc)
	for _, s := range inc.sessions() {
		end(s)
	}
	inc.closed.Store(true)
	return true
}

// shutDownSession judges when Shutdown returns, and what has become of the holds. The machine's other
// session may have used up the time.
func (m *machine) shutDownSession(ctx context.Context, s *zklock.Session) {
	m.world.log.note(m.name, "Shutdown")
	deadline, _ := ctx.Deadline()
	if now := time.Now(); now.After(deadline) {
		deadline = now
	}
	err := s.Shutdown(ctx)
	m.world.log.note(m.name, "Shutdown returned %v", err)
	switch {
	case m.world.ctx.Err() != nil:
	case ctx.Err() == nil:
		m.world.checker.judgeDrained(s)
	case late(time.Since(deadline), 0):
		m.world.checker.fail("P5", "Shutdown of %s returned %v after its ctx had ended", m.name, time.Since(deadline))
	}
}

func (m *machine) closeSession(s *zklock.Session, calm bool) {
	start, id := time.Now(), s.ID()
	m.world.log.note(m.name, "Close")
	err := s.Close()
	m.world.log.note(m.name, "Close returned %v", err)
	if took := time.Since(start); took > 3*time.Second {
		m.world.checker.fail("P6", "Close of %s took %v", m.name, took)
	}
	if calm && err != nil && !m.world.checker.isExpired(id) {
		m.world.checker.fail("P6", "Close of %s without any fault: %v", m.name, err)
	}
}

// id returns the id of the machine's ZooKeeper session, the first of two, 0 if it has none.
func (m *machine) id() int64 { return m.ids()[0] }

// timeout is that of the machine's session as it was granted last, 0 if it has none.
func (m *machine) timeout() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return 0
	}
	return m.latest.session.Timeout()
}

// ids returns the id of each of the machine's sessions, a 0 if it has none.
func (m *machine) ids() (ids []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return []int64{0}
	}
	for _, s := range m.latest.sessions() {
		ids = append(ids, s.ID())
	}
	return ids
}

// accepting makes a dialer go by way of something that accepts connections for
// servers that are away, and closes them when it hears what they are for.
func accepting(dial zk.Dialer) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := dial(network, address, timeout)
		if err == nil {
			return conn, nil
		}
		client, proxy := net.Pipe()
		go func() {
			defer proxy.Close()
			_, _ = io.ReadAtLeast(proxy, make([]byte, 256), 1)
		}()
		return client, nil
	}
}

// forgetful is a connection to a server that has forgotten the session.
type forgetful struct {
	net.Conn
	forget    *atomic.Bool
	asked     bool
	announced bool // the length of its first frame was sent alone
}

func (f *forgetful) Write(p []byte) (int, error) {
	const length, sessionAt = 4, 4 + 4 + 8 + 4
	if len(p) == length { // of a connect request that is sent in two parts
		f.announced = true
		return f.Conn.Write(p)
	}
	at := sessionAt
	if f.announced {
		at -= length
	}
	if !f.asked && len(p) >= at+8 && f.forget.Swap(false) {
		p = append([]byte(nil), p...)
		binary.BigEndian.PutUint64(p[at:], 0)
	}
	f.asked = true
	return f.Conn.Write(p)
}
