package zktest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// TB is the part of testing.TB that the constructors need.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Ensemble is a number of servers that replicate one tree: a leader, and followers that copy it. Its methods may be
// called from any goroutine.
type Ensemble struct {
	settings
	mu      sync.Mutex // guards everything; never held while reading from or writing to a connection
	rng     *rand.Rand
	origin  time.Time // a boundary of the tick
	servers []*Server
	clients map[string]*Client
	ready   []*lane
	faults  []*Fault
	changed chan struct{} // closed and replaced when the network changes

	observers   []func(Txn)
	observed    int64 // zxid of the last commit
	sequences   map[string]sequence
	requests    map[Op]int
	open        map[*conn]struct{}
	connections int64
	workers     sync.WaitGroup
	closed      bool
}

// NewEnsemble starts n servers, and closes them when the test ends. The last of them leads.
func NewEnsemble(tb TB, n int, opts ...Option) *Ensemble {
	tb.Helper()
	e, err := StartEnsemble(n, opts...)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() { e.Close() })
	return e
}

// StartEnsemble starts n servers for a program that is not a test. The caller closes them.
func StartEnsemble(n int, opts ...Option) (*Ensemble, error) {
	e := &Ensemble{
		settings:  defaults(),
		clients:   make(map[string]*Client),
		changed:   make(chan struct{}),
		sequences: make(map[string]sequence),
		requests:  make(map[Op]int),
		open:      make(map[*conn]struct{}),
	}
	for _, o := range opts {
		o(&e.settings)
	}
	if e.minTimeout == 0 && e.maxTimeout == 0 {
		e.minTimeout, e.maxTimeout = 2*e.tick, 20*e.tick
	}
	if n < 1 || e.tick < time.Millisecond || e.minTimeout > e.maxTimeout || e.syncLimit < 1 || e.maxFrame < 64 {
		return nil, fmt.Errorf("zktest: no ensemble of %d servers with %+v", n, e.settings)
	}
	e.rng = rand.New(rand.NewPCG(uint64(e.seed), 0))
	// Where the tick's boundaries lie has nothing to do with when the server was started, so it is drawn.
	e.origin = time.Now().Add(-e.draw(span{0, e.tick - 1}))
	e.do(func() { e.boot(n) })
	return e, nil
}

func (e *Ensemble) boot(n int) {
	for i := range n {
		e.servers = append(e.servers, newServer(e, i))
	}
	for _, s := range e.servers {
		for _, to := range e.servers {
			s.links = append(s.links, newLink(e, to))
		}
	}
	e.servers[n-1].lead(e.servers)
	if n > 1 {
		e.after(e.draw(span{1, e.tick / 2}), e.beat)
	}
}

// Close closes every connection and listener and waits until the last goroutine is gone.
func (e *Ensemble) Close() error {
	e.do(func() {
		e.closed = true
		close(e.changed)
		e.changed = make(chan struct{})
		for _, s := range e.servers {
			s.openOrClose()
			if s.leader != nil {
				s.leader.stop()
			}
		}
		for c := range e.open {
			c.close()
		}
	})
	e.workers.Wait()
	return nil
}

// Servers returns the servers in their order.
func (e *Ensemble) Servers() []*Server { return append([]*Server(nil), e.servers...) }

// Server returns server i, counted from 0.
func (e *Ensemble) Server(i int) *Server { return e.servers[i] }

// Leader returns the server that leads, nil while none does. A deposed leader that has not noticed does not count.
func (e *Ensemble) Leader() *Server {
	var leader *Server
	e.do(func() {
		for _, s := range e.servers {
			if s.leader != nil && (leader == nil || s.epoch > leader.epoch) {
				leader = s
			}
		}
	})
	return leader
}

// Dial connects to the server whose Addr or PipeAddr is addr, through memory in either case. It has the signature of
// go-zookeeper's Dialer.
func (e *Ensemble) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	return e.Client("").Dial(network, addr, timeout)
}

// PipeAddrs returns the servers' PipeAddr in their order.
func (e *Ensemble) PipeAddrs() []string {
	addrs := make([]string, len(e.servers))
	for i, s := range e.servers {
		addrs[i] = s.PipeAddr()
	}
	return addrs
}

// Addrs returns the servers' Addr in their order.
func (e *Ensemble) Addrs() []string {
	addrs := make([]string, len(e.servers))
	for i, s := range e.servers {
		addrs[i] = s.Addr()
	}
	return addrs
}

func (e *Ensemble) quorum() int { return len(e.servers)/2 + 1 }

// do runs fn under the lock, and then everything that fn set in motion.
func (e *Ensemble) do(fn func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fn()
	e.settle()
}

// settle runs lanes until there is nothing left to do now.
func (e *Ensemble) settle() {
	for len(e.ready) > 0 {
		l := e.ready[0]
		e.ready = e.ready[1:]
		l.run()
	}
}

// after runs fn under the lock once d has passed, unless the ensemble is closed by then.
func (e *Ensemble) after(d time.Duration, fn func()) *time.Timer {
	return time.AfterFunc(d, func() {
		e.do(func() {
			if !e.closed {
				fn()
			}
		})
	})
}

func (e *Ensemble) shuffle(list []string) {
	e.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
