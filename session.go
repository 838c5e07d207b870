package zklock

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/queue"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Session is a ZooKeeper session with everything that belongs to it: the locks that it holds
// and waits for, their watches, and the deletes still to be done. Make one per process with
// [Connect] and share it; all its methods may be called from any goroutine.
//
// A connection that breaks is replaced, on another server if need be, and the session lives on.
// When the server has ended the session, every hold in it is lost, and a new one takes its
// place for the locks taken from then on.
type Session struct {
	client *client.Client
	locks  *queue.Session

	closing  atomic.Bool
	closed   latch.Latch // when that is over
	closeErr error       // then
}

// Connect establishes a session with one of the servers, each given as host:port or host (port
// 2181), an IPv6 address as [host]:port; what is neither is refused at once. It returns when the
// session is established and every credential is accepted, or with an error that names the
// servers: a bad argument, a refused credential, or the end of ctx with the cause of the last
// failed attempt. After an error nothing is left behind here, and at most a session without
// nodes at the servers. It tries until ctx ends, and the log says after 2 seconds what it waits for
// ([WithLogger]); once the session is established it does not depend on ctx.
//
// The servers may negotiate another timeout than the one asked for; see [Session.Timeout]. They
// keep a session without a connection for that long: a crashed holder blocks the others until
// then. Without a server that answers a hold ends earlier, usually after 0.45 to 0.6 of the
// timeout and at worst after about 0.16, so that its owner knows before anybody else can have
// the lock.
//
// The last server may carry a chroot for the whole list, as in zk1:2181,zk2:2181/app: the paths
// that the session's locks and members, [Inspect] and [Revoke] are given are below it. It is
// created when the first of them is, as every missing parent is: see [WithACL], and as a container unless [WithPersistentParents] says otherwise. What is
// told of nodes is whole: [Hold.Node], [Contender], errors, traces and the log, and so are the
// paths of [Session.Conn].
func Connect(ctx context.Context, servers []string, timeout time.Duration, opts ...SessionOption) (*Session, error) {
	fail := func(err error) (*Session, error) {
		return nil, wrap("connect", strings.Join(servers, ","), err)
	}
	addresses, chroot, err := client.SplitChroot(servers)
	if err == nil {
		err = client.CheckServers(addresses)
	}
	if err == nil {
		err = checkTimeout(timeout)
	}
	if err != nil {
		return fail(err)
	}
	options := sessionOptions{Options: client.Options{Chroot: chroot, Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts()}}
	if err := client.Apply(&options, opts); err != nil {
		return fail(err)
	}
	if err := options.check(); err != nil {
		return fail(err)
	}
	if client.HasEnded(ctx) {
		return fail(client.Ended(ctx))
	}
	c := client.New(timeout, clock.Of(ctx), options.Options)
	s := &Session{client: c, locks: queue.NewSession(c)} // which observes c from now on
	if err := c.Connect(ctx, addresses, options.Credentials.Last()); err != nil {
		return fail(err)
	}
	return s, nil
}

// whole returns the whole of a lock's path, or what is wrong with the arguments, as the error of op.
func (s *Session) whole(op, path string) (string, error) {
	if err := s.made(); err != nil {
		return "", wrap(op, path, err)
	}
	if err := recipe.CheckPath(path); err != nil {
		return "", wrap(op, path, err)
	}
	return s.client.Below(path), nil
}

// checkNew returns the options of a lock on path, and the whole of that, or what is wrong with
// the arguments.
func checkNew(s *Session, path string, kind recipe.Kind, opts []Option) (*options, string, error) {
	whole, err := s.whole("new", path)
	if err != nil {
		return nil, "", err
	}
	o, err := newOptions(whole, kind, opts)
	if err != nil {
		return nil, "", wrap("new", path, err)
	}
	if s.client.Context().Err() != nil {
		return nil, "", wrap("new", path, ErrClosed)
	}
	return o, whole, nil
}

func newQueue(s *Session, path string, kind recipe.Kind, opts []Option) (*queue.Queue, *options, error) {
	o, whole, err := checkNew(s, path, kind, opts)
	if err != nil {
		return nil, nil, err
	}
	return queue.New(s.locks, whole, kind, o.queue(whole)), o, nil
}

func checkTimeout(timeout time.Duration) error {
	switch {
	case timeout <= 0:
		return fmt.Errorf("session timeout %v: it must be positive", timeout)
	case timeout < time.Millisecond:
		return fmt.Errorf("session timeout %v: ZooKeeper counts in milliseconds, it must be at least one", timeout)
	case timeout > math.MaxInt32*time.Millisecond:
		return fmt.Errorf("session timeout %v: ZooKeeper counts milliseconds in 32 bits", timeout)
	}
	return nil
}

// Conn returns the session's connection, whose paths are whole (see [Connect]), for the
// caller's own reads and writes and for fenced Multi writes (see [Hold.Check]). Do not close
// it: use [Session.Close]. After a reconnect a watch of your own tells of what has changed meanwhile, and may
// tell once of a change that your read has shown.
func (s *Session) Conn() *zk.Conn { return s.must("conn").client.Conn }

// ID returns the ZooKeeper session's id, 0 while there is none because the last one has
// expired.
func (s *Session) ID() int64 { return s.must("id").client.ID() }

// Timeout returns the session timeout as negotiated with the server.
func (s *Session) Timeout() time.Duration { return s.must("timeout").client.Timeout() }

// Closed returns a channel that is closed when the session is: by Close, or at the end of Shutdown.
// It says nothing of the locks: see [Hold.Lost].
func (s *Session) Closed() <-chan struct{} { return s.must("closed").client.Context().Done() }

// Shutdown ends the session when its locks have been given back, as http.Server's Shutdown does when
// its requests are answered. From now on nobody gets a lock: calls for one, and those that wait,
// return [ErrClosed] (Lock panics with it). Whoever holds a lock goes on: locks it once more, goes
// from writing to reading, gives it back. When nothing is held, Shutdown closes the session as Close
// does, and returns its error. A hold that was lost is not waited for; a node that stays for
// [WithMinHold] or [WithLossGrace] is, also if somebody else deletes it meanwhile.
//
// If ctx ends first, Shutdown loses what is still held, as Close does, and returns an error that is
// ctx's and says how many locks that were. The rest of Close goes on in the background: call Close to
// wait for it. A Close meanwhile ends Shutdown too, which then returns the result of that Close.
//
// Under a ctx that carries a hold of this session (see [Locker.Do]) it would wait for itself: it
// returns [ErrDeadlock], and the session stays open. Members of package membership stay in their lists
// until the session is closed: have them leave first.
func (s *Session) Shutdown(ctx context.Context) error {
	if err := s.made(); err != nil {
		return wrap("shutdown", "", err)
	}
	client.NeedsContext(ctx)
	name := sessionName(s.ID())
	if waitsFor(ctx, func(h *Hold) bool { return h.hold.Client() == s.client && h.hold.IsHeld() }) != nil {
		return wrap("shutdown", name, ErrDeadlock)
	}
	select {
	case <-s.locks.Drain():
	case <-ctx.Done():
	}
	held := s.locks.Close()
	go s.Close()
	if len(held) == 0 {
		select {
		case <-s.closed.Done():
			return s.closeErr
		case <-ctx.Done():
		}
	}
	err := client.Ended(ctx)
	if len(held) > 0 {
		err = fmt.Errorf("%w: %d of its locks were still held, such as %s", err, len(held), held[0])
	}
	return wrap("shutdown", name, err)
}

// Close ends the session, and with it whatever is held, which is lost: first every Lost channel
// closes, and [Hold.Err] is [ErrLost] and [ErrClosed]; then the server deletes the nodes, and the next
// holders are in. Whoever waits gets [ErrClosed]. [Session.Shutdown] waits for the holders.
//
// When Close returns no goroutine, timer or socket is left. Only a function of the caller's that
// package membership calls, or a Do runs, may still be running. It takes a round trip, and a few
// seconds at most if no server answers. Calling it again returns the first call's result.
//
// The error says that no server has confirmed the end: everything is cleaned up here all the
// same, but the session's nodes may stay until its timeout. Or it says that the client did not
// end, as can happen while the caller's own requests over [Session.Conn] are under way: then
// goroutines of it may be left too.
func (s *Session) Close() error {
	if err := s.made(); err != nil {
		return wrap("close", "", err)
	}
	if s.closing.Swap(true) {
		<-s.closed.Done() // in a bubble of synctest, whose clock a sync.Once would stop
	} else {
		s.close()
	}
	return s.closeErr
}

// close is the first Close.
func (s *Session) close() {
	defer s.closed.Close()
	s.locks.Close()
	tell := s.client.Shut()
	id := s.client.ID()
	// However the trace ends, be it by a panic, the session is to be closed.
	defer func() {
		s.closeErr = wrap("close", sessionName(id), s.client.Close(client.RequestPatience))
	}()
	tell()
}

func sessionName(id int64) string { return "session " + client.Hex(id) }

func init() {
	client.Of = func(session any) *client.Client { return session.(*Session).client }
}

// Ping returns nil when a majority of the servers has committed a write of this session that
// changes nothing: locks can be taken then. It is for readiness probes. A server that is up but
// cut off from its leader fails it. While there is no connection it waits for one, and it tries
// again if one breaks, as long as ctx lives: give it a deadline. The error is ctx's, with the
// last cause of the connection if there is none, [ErrClosed], or a server's refusal.
func (s *Session) Ping(ctx context.Context) error {
	if err := s.made(); err != nil {
		return wrap("ping", "", err)
	}
	client.NeedsContext(ctx)
	err := s.client.Persist(ctx, func() error { return s.ping(ctx) })
	return wrap("ping", sessionName(s.ID()), s.client.Explain(err))
}

func (s *Session) ping(ctx context.Context) error {
	if client.HasEnded(ctx) {
		return client.Ended(ctx)
	}
	if err := s.client.MakeRoom(ctx); err != nil {
		return err
	}
	err := s.client.Transact(ctx, client.Check("/"))
	if client.Answers(err, zk.ErrNoAuth) { // which a majority has committed too
		return nil
	}
	return err
}
