package zklock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/wire"
)

// Session is a ZooKeeper session with everything that hangs on it: the locks it
// holds and waits for, their watches, and the deletes still to be done. Make one
// per process with [Connect] and share it; all its methods may be called from
// any goroutine.
//
// A connection that breaks is replaced, on another server if need be, and the
// session lives on. When the server has ended the session, every hold in it is
// lost, and a new one takes its place for the locks taken from then on.
type Session struct {
	conn    *zk.Conn
	events  <-chan zk.Event // closed when the client's last goroutine has ended
	dialer  *wire.Dialer
	log     *journal
	clock   *clock.Clock
	ids     *identities
	timeout atomic.Int64 // as negotiated last; as asked for before that

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // goroutines and requests that Close waits for

	mu      sync.Mutex
	closed  bool
	changed chan struct{} // closed and replaced at each change of link, id, epoch or closed
	link    *wire.Link    // nil while disconnected
	id      int64         // of the ZooKeeper session; 0 when it has expired
	epoch   *epoch        // nil when it has ended and no new one has begun
	live    map[string]*contender
	lines   lines
	lists   map[string]*lists // by queue, of those that are being read
	watches map[watchKey]*watch

	removals []*removal // that wait to be carried out together
	taken    *batch     // the last that were taken from these
	removing bool       // removeTogether runs
	unclean  int        // cleanUps under way
	failure  error      // of the last attempt to connect

	containers      containers
	containersAsked int                    // for, under way
	watched         map[*watchdog]struct{} // the calls under way that may have to be told
	stalls          *time.Timer            // runs findStalls while there are any
	told            map[string]*watchdog   // by path: the calls whose waiting is in the log
	asking          chan struct{}          // has a value while the first container is asked for

	// The lease and what stands under it; see stake.
	staked   map[string]*contender
	beginner chan struct{} // has a value while a contender begins the lease
	shortest time.Duration // timeout negotiated in the ZooKeeper session's life
	unheard  lease.Unheard // connect requests for the ZooKeeper session
	relays   lease.Relays  // over link
	proving  bool          // keepProving runs
	expiry   *time.Timer   // runs expire

	closeOnce sync.Once
	closeErr  error
}

// Connect establishes a session with one of the servers, given as host:port or
// host (port 2181). It returns when the session stands and every credential is
// accepted, or with an error that names the servers: the arguments' fault, a
// refused credential, or ctx's end with the last cause. After an error nothing
// is left behind here, and at most a session without nodes at the servers. While ctx lives it goes on trying; the session, once it stands,
// does not depend on ctx.
//
// The servers may negotiate another timeout than the one asked for; see
// [Session.Timeout]. A session outlives a lost connection by that time, and so
// do its locks: a crashed holder blocks the others for that long.
func Connect(ctx context.Context, servers []string, timeout time.Duration, opts ...SessionOption) (*Session, error) {
	fail := func(err error) (*Session, error) {
		return nil, wrap("connect", strings.Join(servers, ","), err)
	}
	if err := checkServers(servers, timeout); err != nil {
		return fail(err)
	}
	options := sessionOptions{logger: slog.New(slog.DiscardHandler), hosts: wire.NewHosts()}
	for _, apply := range opts {
		apply(&options)
	}
	if err := options.check(); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return fail(ended(ctx))
	}
	s := newSession(timeout, clock.Of(ctx), options)
	conn, events, err := zk.Connect(servers, timeout,
		zk.WithDialer(s.dialer.Connect),
		zk.WithHostProvider(s.dialer.Hosts),
		zk.WithEventCallback(s.notify),
		zk.WithLogger(s.log))
	if err != nil {
		s.Close()
		return fail(err)
	}
	s.conn, s.events = conn, events
	stands := false
	defer func() {
		if !stands {
			s.close(0) // no server may answer: one that refuses a credential hangs up
		}
	}()
	if err := s.establish(ctx, options.credentials); err != nil {
		return fail(err)
	}
	stands = true
	return s, nil
}

func checkServers(servers []string, timeout time.Duration) error {
	switch {
	case len(servers) == 0:
		return errors.New("the server list is empty: name at least one as host:port")
	case timeout <= 0:
		return fmt.Errorf("session timeout %v: it must be positive", timeout)
	case timeout < time.Millisecond:
		return fmt.Errorf("session timeout %v: ZooKeeper counts in milliseconds, it must be at least one", timeout)
	case timeout > math.MaxInt32*time.Millisecond:
		return fmt.Errorf("session timeout %v: ZooKeeper counts milliseconds in 32 bits", timeout)
	}
	for _, server := range servers {
		if strings.TrimSpace(server) == "" {
			return fmt.Errorf("server %q: it must be host:port", server)
		}
	}
	return nil
}

func newSession(timeout time.Duration, clock *clock.Clock, options sessionOptions) *Session {
	s := &Session{
		log:      &journal{logger: options.logger},
		clock:    clock,
		ids:      newIdentities(),
		changed:  make(chan struct{}),
		live:     make(map[string]*contender),
		lists:    make(map[string]*lists),
		lines:    lines{at: make(map[spot]*contender), length: make(map[string]int)},
		watches:  make(map[watchKey]*watch),
		staked:   make(map[string]*contender),
		beginner: make(chan struct{}, 1),
		asking:   make(chan struct{}, 1),
		watched:  make(map[*watchdog]struct{}),
		told:     make(map[string]*watchdog),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.timeout.Store(int64(timeout))
	if options.persistentParents {
		s.containers = containersRefused
	}
	s.dialer = wire.NewDialer(s.ctx, (*wireSession)(s), wire.Options{
		Dial: options.dialer, TLS: options.tls, Hosts: options.hosts, Log: s.log, Clock: clock,
	})
	return s
}

// establish waits for the session and logs in.
func (s *Session) establish(ctx context.Context, credentials []credential) error {
	for {
		_, _, err := s.await(ctx, anySession)
		if err == nil {
			err = s.logIn(ctx, credentials)
		}
		switch {
		case err == nil, errors.Is(err, zk.ErrAuthFailed):
			return err
		case ctx.Err() != nil:
			switch failure := s.lastFailure(); {
			case failure == nil:
			case looksEnded(failure): // a dial that has used up its time
				return fmt.Errorf("%w (last cause: %v)", ended(ctx), failure)
			default:
				return fmt.Errorf("%w (last cause: %w)", ended(ctx), failure)
			}
			return ended(ctx)
		case !transient(err):
			return err
		}
	}
}

func (s *Session) logIn(ctx context.Context, credentials []credential) error {
	for _, c := range credentials {
		login := send(s, func() (struct{}, error) { return struct{}{}, s.conn.AddAuth(c.scheme, c.secret) })
		if _, err := login.wait(ctx); answers(err, zk.ErrAuthFailed) {
			return fmt.Errorf("credentials of scheme %q were refused: %w", c.scheme, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Conn returns the session's connection, for the caller's own reads and writes
// and for fenced Multi writes (see [Hold.Check]). Do not close it: use
// [Session.Close].
func (s *Session) Conn() *zk.Conn { return s.conn }

// ID returns the ZooKeeper session's id, 0 while there is none because the last
// one has expired.
func (s *Session) ID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Timeout returns the session timeout as negotiated with the server.
func (s *Session) Timeout() time.Duration { return time.Duration(s.timeout.Load()) }

// Done returns a channel that is closed by Close.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Close ends the session: its holds end as released ([ErrReleased]; their Lost
// channels stay open), its waiters get [ErrClosed], the server deletes its
// nodes, and when Close returns no goroutine, timer or socket is left. It takes a
// round trip, and a few seconds at most if no server answers. Calling it again
// returns the first call's result.
//
// The error says that no server has confirmed the end: everything is cleaned up
// here all the same, but the session's nodes may stay until its timeout. Or it
// says that the client did not end, as can happen while the caller's own requests
// over [Session.Conn] are under way: then goroutines of it may be left too.
func (s *Session) Close() error { return s.close(requestPatience) }

// close is Close that gives the server so long to answer the requests under way,
// ahead of the end; without patience it asks none.
func (s *Session) close(patience time.Duration) error {
	s.closeOnce.Do(func() { s.shutDown(patience) })
	return s.closeErr
}

func (s *Session) shutDown(patience time.Duration) {
	s.mu.Lock()
	s.closed = true
	var released []*Hold
	for _, c := range s.live {
		if c.close() {
			released = append(released, c.hold)
		}
	}
	clear(s.live)
	s.stopLooking()
	if s.stalls != nil {
		s.stalls.Stop()
	}
	l, id := s.link, s.id
	s.broadcast()
	s.mu.Unlock()
	s.cancel(errClosing)
	// However the trace ends, be it by a panic, the session is to be closed.
	defer func() {
		if s.conn != nil {
			s.closeErr = wrap("close", fmt.Sprintf("session %#x", id), s.hangUp(l, id, patience))
		}
		s.work.Wait()
		s.log.close()
	}()
	for _, h := range released {
		if h.history.released() {
			defer h.history.tell()
		}
	}
}

const (
	requestPatience = time.Second     // until the connection is cut under those under way
	clientPatience  = 2 * time.Second // twice what the client allows itself
)

// hangUp ends the client and returns an error if no server has confirmed the end
// of session id, which connection l carried.
func (s *Session) hangUp(l *wire.Link, id int64, patience time.Duration) error {
	// A request that is queued while the client closes may be answered twice,
	// which wedges the client: ours end before.
	answered := make(chan struct{})
	go func() {
		s.work.Wait()
		close(answered)
	}()
	connected := l != nil && patience > 0
	if connected {
		select {
		case <-answered:
		case <-time.After(patience):
			connected = false
		}
	}
	if !connected {
		s.dialer.Stop()
	}
	<-answered
	closing := s.dialer.Taps.Add(wire.Request{Op: wire.OpCloseSession}, func() {})
	s.conn.Close() // waits a second at most for the server's answer
	_, confirmed, _ := closing.Fate()
	s.dialer.Cut()
	switch {
	case !s.clientEnds():
		return errors.New("the client did not end")
	case !confirmed && id != 0:
		return fmt.Errorf("no server confirmed it: its nodes may stay for its timeout of %v", s.Timeout())
	}
	return nil
}

// clientEnds waits for the client's last goroutine; false if requests that the
// caller made over Conn have wedged it.
func (s *Session) clientEnds() bool {
	late := time.After(clientPatience)
	for {
		select {
		case _, open := <-s.events:
			if !open {
				return true
			}
		case <-late:
			return false
		}
	}
}

// spawnLocked runs f in a goroutine that Close waits for; false, without running
// it, when the session is closed. s.mu is held.
func (s *Session) spawnLocked(f func()) bool {
	if s.closed {
		return false
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		f()
	}()
	return true
}

// begin makes Close wait for the caller's s.work.Done; false when the session is
// closed.
func (s *Session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}
