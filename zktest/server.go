package zktest

import (
	"fmt"
	"net"
	"time"
)

// Server is one ZooKeeper server: alone, or a member of an Ensemble. Its methods may be called from any goroutine.
type Server struct {
	_        noCopy
	e        *Ensemble
	index    int
	addr     string       // asked for by Addr
	listener net.Listener // nil while it takes no connections, or nobody has asked for addr

	// What a server keeps on its disk.
	tree     *tree
	sessions map[int64]time.Duration // with the timeouts they were created with
	zxid     int64                   // of the last transaction applied
	accepted []*txn                  // logged, not applied yet
	epoch    int64

	// What it keeps in memory.
	leader      *leader   // while it leads
	bond        *follower // while it follows
	looking     time.Time // since when it does neither
	watches     *watches
	conns       map[*conn]struct{}
	touched     map[int64]time.Duration // sessions heard of since the leader last asked
	nextSession int64
	started     time.Time
	received    int // packets of all connections
	sent        int
	links       []*link
	disk        lane // transactions on their way into the log
	applies     lane // commits on their way into the tree

	// What faults do to it.
	frozen, down, refusing bool
	overdue                bool // a beat was missed while frozen
	lag, skew              time.Duration
	stale                  stale
	minTimeout, maxTimeout time.Duration // of the sessions that connect here
}

func newServer(e *Ensemble, index int) *Server {
	s := &Server{
		e: e, index: index,
		tree:     newTree(),
		sessions: make(map[int64]time.Duration),
		watches:  newWatches(),
		conns:    make(map[*conn]struct{}),
		touched:  make(map[int64]time.Duration),
		started:  time.Now(),

		minTimeout: e.minTimeout, maxTimeout: e.maxTimeout,
	}
	frozen := func() bool { return s.frozen }
	s.disk = lane{e: e, blocked: frozen}
	s.applies = lane{e: e, blocked: frozen}
	return s
}

// NewServer starts a server that stands alone, and closes it when the test ends.
func NewServer(tb TB, opts ...Option) *Server {
	tb.Helper()
	return NewEnsemble(tb, 1, opts...).servers[0]
}

// Start starts a server that stands alone for a program that is not a test. The caller closes it.
func Start(opts ...Option) (*Server, error) {
	e, err := StartEnsemble(1, opts...)
	if err != nil {
		return nil, err
	}
	return e.servers[0], nil
}

// Close closes the server, and with it the ensemble it belongs to.
func (s *Server) Close() error { return s.e.Close() }

// Ensemble returns the ensemble the server belongs to; a server that stands alone is an ensemble of one.
func (s *Server) Ensemble() *Ensemble { return s.e }

// PipeAddr returns an address that only the Dial functions of this package understand. It has a form that clients
// resolve without asking anyone (TEST-NET-1, RFC 5737), so that it can be used inside a testing/synctest bubble.
func (s *Server) PipeAddr() string { return fmt.Sprintf("192.0.2.%d:2181", s.index+1) }

// Dial connects to this server through net.Pipe, whatever the address. It has the signature of go-zookeeper's Dialer.
func (s *Server) Dial(_, _ string, timeout time.Duration) (net.Conn, error) {
	return s.e.Client("").dial(s, timeout)
}

// logged runs fn when this server has written the transaction at hand to its log.
func (s *Server) logged(fn func()) { s.disk.push(s.e.draw(s.e.diskLatency), fn) }

// sortedConns returns the connections in the order they were made.
func (s *Server) sortedConns() []*conn { return inOrder(s.conns) }
