package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// takes are the calls that take a free lock.
var takes = map[string]func(ctx context.Context, l *zklock.Locker) (*zklock.Hold, error){
	"LockContext": func(ctx context.Context, l *zklock.Locker) (*zklock.Hold, error) {
		err := l.LockContext(ctx)
		return l.Held(), err
	},
	"TryLockFor": func(ctx context.Context, l *zklock.Locker) (*zklock.Hold, error) {
		_, err := l.TryLockFor(ctx, patience)
		return l.Held(), err
	},
	"TryAcquire": func(ctx context.Context, l *zklock.Locker) (*zklock.Hold, error) { return l.TryAcquire(ctx) },
}

func TestALostCreateReplyLeavesOneNode(t *testing.T) {
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			at.makeParent()
			s := at.session()
			lost := at.proxy.DropReply(faultproxy.OpCreate)
			h, err := take(within(t, patience), at.locker(s))
			require.NoError(t, err)
			receive(t, lost, "the loss of the reply")
			at.requireHeld(h, s)
			require.Equal(t, 1, at.childWrites(), "the node is adopted")
			require.NoError(t, h.Release(t.Context()))
			require.Equal(t, 2, at.childWrites())
		})
	}
}

func TestALostCreateRequestIsSentAgain(t *testing.T) {
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			at.makeParent()
			s := at.session()
			lost := at.proxy.DropRequest(faultproxy.OpCreate)
			h, err := take(within(t, patience), at.locker(s))
			require.NoError(t, err)
			receive(t, lost, "the loss of the request")
			at.requireHeld(h, s)
			require.Equal(t, 1, at.childWrites())
		})
	}
}

func TestALostCreateReplyIsCleanedUpAfterItsContext(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l := at.stranger()
	lost := at.proxy.DropReply(faultproxy.OpCreate)
	ctx, cancel := context.WithCancel(context.Background())
	refused := begin(func() error { return l.LockContext(ctx) })
	at.proxy.OnRequest(func(op int32, _ []byte) {
		if op == faultproxy.OpConnect { // nobody knows yet what became of the create
			cancel()
		}
	})
	require.ErrorIs(t, receive(t, refused, "the cancelled call"), context.Canceled)
	receive(t, lost, "the loss of the reply")
	at.awaitQueue(0)
	require.Equal(t, 2, at.childWrites(), "one node came and went")
}

func TestTheEndOfTheSessionAfterALostCreateReplyLeavesOneNode(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	s := at.session()
	lost := at.proxy.DropReply(faultproxy.OpCreate)
	at.proxy.OnRequest(func(op int32, _ []byte) {
		if op == faultproxy.OpCreate {
			at.proxy.OnRequest(nil)
			at.proxy.Refuse(true)
		}
	})
	got := at.acquire(s)
	receive(t, lost, "the loss of the reply")
	at.kill(s)
	h := receive(t, got, "the lock")
	at.requireHeld(h, s)
	require.Equal(t, 3, at.childWrites(), "the first node went with its session")
}

func TestALostDeleteReplyIsNoError(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l := at.stranger()
	for name, lose := range map[string]func(op int32) <-chan struct{}{
		"reply": at.proxy.DropReply, "request": at.proxy.DropRequest,
	} {
		t.Run(name, func(t *testing.T) {
			before := at.childWrites()
			for _, unlock := range []func() error{
				func() error { return l.UnlockContext(context.Background()) },
				func() error { l.Unlock(); return nil },
			} {
				require.NoError(t, l.LockContext(within(t, patience)))
				lost := lose(faultproxy.OpDelete)
				require.NoError(t, unlock())
				receive(t, lost, "the loss")
				at.awaitQueue(0)
			}
			require.Equal(t, before+4, at.childWrites())
		})
	}
}

// A connection that breaks is replaced, and the holds live on.
func TestAHoldOutlivesItsConnection(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	h := l.Held()
	for range 5 {
		reconnected := make(chan struct{}, 1)
		at.proxy.OnRequest(func(op int32, _ []byte) {
			if op == faultproxy.OpMulti { // a proof on the new connection
				select {
				case reconnected <- struct{}{}:
				default:
				}
			}
		})
		at.proxy.Cut()
		receive(t, reconnected, "a new connection")
		at.requireHeld(h, s)
	}
	require.False(t, isClosed(l.Lost()))
	require.NoError(t, l.UnlockContext(t.Context()))
}

func TestAWaiterWhosePredecessorLeavesWhileItIsDisconnectedGetsTheLock(t *testing.T) {
	at := newSite(t)
	holder := at.locker(at.sessionVia(at.addr, longSession))
	s := at.session()
	holder.Lock()
	got := at.acquire(s)
	at.awaitQueue(2)
	at.proxy.Refuse(true)
	at.proxy.Cut()
	require.NoError(t, holder.UnlockContext(t.Context()))
	requireSilent(t, got, "it is disconnected")
	at.proxy.Refuse(false)
	at.requireHeld(receive(t, got, "the waiter's turn"), s)
}

func TestUnlockWhileDisconnectedReturnsAndDeletesLater(t *testing.T) {
	at := newSite(t)
	l, next := at.stranger(zklock.WithoutOwner()), at.locker(at.sessionVia(at.addr, longSession))
	l.Lock()
	got := lockElsewhere(next)
	at.awaitQueue(2)
	at.proxy.Refuse(true)
	at.proxy.Cut()
	began := time.Now()
	receive(t, begin(func() bool { l.Unlock(); return true }), "Unlock")
	require.Less(t, time.Since(began), prompt)
	require.Nil(t, l.Held())
	require.ErrorIs(t, l.LockContext(within(t, aWhile)), context.DeadlineExceeded)
	requireSilent(t, got, "the node is still there")
	at.proxy.Refuse(false)
	require.NoError(t, receive(t, got, "the next one's turn"))
	at.awaitQueue(1)
}

func TestAServerRestartKeepsAHolderAndAWaiter(t *testing.T) {
	t.Parallel()
	server := apachezk.Run(t).Server(0)
	at := siteAt(t, server.Addr())
	const timeout = 2 * time.Minute // a busy machine may take long to restart it
	holders, waiters := at.sessionVia(at.proxy.Addr(), timeout), at.sessionVia(at.proxy.Addr(), timeout)
	l := at.locker(holders)
	l.Lock()
	got := at.acquire(waiters)
	queue := at.awaitQueue(2)

	require.NoError(t, server.Restart(t.Context()))
	eventually(t, "the sessions to come back", func() bool {
		_, _, err := at.conn.Exists("/")
		_, _, errH := holders.Conn().Exists("/")
		_, _, errW := waiters.Conn().Exists("/")
		return err == nil && errH == nil && errW == nil
	})
	require.Equal(t, queue, at.queue(), "the nodes are the same")
	at.requireHeld(l.Held(), holders)
	requireSilent(t, got, "the lock is still held")
	require.NoError(t, l.UnlockContext(t.Context()))
	at.requireHeld(receive(t, got, "the waiter's turn"), waiters)
}

// Both nodes of a session go in one transaction, and the server tells of them in any order: the
// end of the holder's must not pass for the waiter's turn.
func TestAWaiterBehindItsOwnSessionsHolderGetsNoFalseHold(t *testing.T) {
	t.Parallel()
	ensemble := apachezk.Run(t, func(c *apachezk.Config) { c.Servers = 3 })
	near, far := ensemble.Server(0), ensemble.Server(1)
	at := siteAt(t, near.Addr())
	at.makeParent()
	s := at.session()
	l := at.locker(s)
	rw, err := zklock.NewRW(s, at.path)
	require.NoError(t, err)
	for round := range often(100) {
		holder, err := l.Acquire(within(t, patience))
		require.NoError(t, err)
		wait := l.Acquire
		if round%2 == 0 { // a session hands its own exclusive locks on without the server
			wait = rw.Acquire
		}
		got := at.begin(wait)
		queue := at.awaitQueue(2)
		eventually(t, "the watches on both nodes", func() bool {
			return watchedAt(t, near, queue[0]) && watchedAt(t, near, queue[1])
		})
		at.killVia(far.Addr(), s)
		h := receive(t, got, "the waiter's turn")
		at.requireHeld(h, s)
		receive(t, holder.Lost(), "the loss")
		require.NoError(t, h.Release(within(t, patience)))
	}
}

// A server may take a while to refuse a credential that has run out, at each connect anew.
func TestWaitersAddNoRequestsWithEachConnectionThatDoesNotLogIn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		const waiters = 5
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
			zklock.WithDialer(b.server.Dial), login("ann"))
		require.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		granted := make(chan grant, 2+waiters)
		others := b.locker(b.session("others"))
		for range 2 { // so that nobody of s is next, and its session need not be proved
			b.ask(ctx, "other", others, granted)
		}
		l := b.locker(s)
		for range waiters {
			b.ask(ctx, "waiter", l, granted)
		}
		time.Sleep(time.Second)
		asked := func() int {
			requests := b.server.Requests()
			return requests[zktest.OpGetData] + requests[zktest.OpSetWatches]
		}
		before := asked()
		refuse := func() *zktest.Fault { return b.server.HoldReply(zktest.OpAuth, zktest.OnSession(s.ID())) }
		refused := refuse()
		b.server.CutSession(s.ID())
		for range 50 {
			<-refused.Struck()
			time.Sleep(100 * time.Millisecond)
			next := refuse()
			b.server.CutSession(s.ID())
			refused.Release()
			refused = next
		}
		<-refused.Struck()
		refused.Release()
		time.Sleep(5 * time.Second) // later all that is watched is read once more
		require.LessOrEqual(t, asked()-before, 2*waiters)
	})
}

// A connect request without an answer leaves the lease short, in which the next connection has to
// be made, logged in and proved: the server is slow for that, and does not hang.
func TestAHoldOutlivesAConnectionWhoseLoginsGoAheadOfItsProof(t *testing.T) {
	const timeout, way, proofs = time.Second, 15 * time.Millisecond, 100 * time.Millisecond
	for offset := time.Duration(0); offset < proofs; offset += proofs / 20 {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(way, way))
			s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, timeout, zklock.WithDialer(server.Dial), login("ann"))
			require.NoError(t, err)
			defer s.Close()
			h := must(must(zklock.New(s, "/l")).Acquire(t.Context()))
			time.Sleep(2 * timeout)
			server.DropRequest(zktest.OpConnect)
			server.CutSession(s.ID())
			time.Sleep(2*timeout + offset)
			server.CutSession(s.ID())
			time.Sleep(timeout)
			require.NoError(t, h.Err(), offset)
		})
	}
}

// The server has closed its end alone, and the connection, a user's, bears no deadline for writing.
func TestAConnectionThatEndsWhileAWriteIsBlockedIsReplaced(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		var full atomic.Bool
		s := must(zklock.Connect(t.Context(), []string{server.PipeAddr()}, longSession,
			zklock.WithDialer(stalling(server.Dial, func([]byte) bool { return full.Load() }))))
		defer s.Close()
		full.Store(true)
		asked := begin(func() error { return s.Ping(within(t, time.Hour)) })
		synctest.Wait()
		server.Cut()
		synctest.Wait()
		full.Store(false)
		require.NoError(t, <-asked)
	})
}
