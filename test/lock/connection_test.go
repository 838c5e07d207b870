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
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

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
