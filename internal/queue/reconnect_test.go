package queue

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

const reconnectTimeout = 10 * time.Second

// reconnecting runs f with a session whose connections wrap makes, by their numbers, of those
// to a server.
func reconnecting(t *testing.T, wrap func(n int32, conn net.Conn) net.Conn, f func(t *testing.T, server *zktest.Server, s *Session, c *clock.Clock)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		var c clock.Clock
		var dials atomic.Int32
		s := connectBy(t, server, &c, reconnectTimeout, client.Options{
			Dialer: func(network, addr string, timeout time.Duration) (net.Conn, error) {
				conn, err := server.Dial(network, addr, timeout)
				if err != nil {
					return nil, err
				}
				return wrap(dials.Add(1), conn), nil
			},
		})
		defer s.end()
		f(t, server, s, &c)
	})
}

func straight(_ int32, conn net.Conn) net.Conn { return conn }

func (s *Session) leaseLeft() time.Duration {
	return s.lease.Left(s.client.Clock.Now())
}

// looks has s look at the lease now, as by its timer.
func (s *Session) looks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(s.client.Clock.Now())
}

// endLease has the lease be over.
func (s *Session) endLease() { s.lease.Begin(s.lease.Timeout()) }

// makeLast has the lease, which is over, last for so long, by a proof that was quick.
func (s *Session) makeLast(left time.Duration) {
	now := s.client.Clock.Now()
	touched := now.Add(left - s.lease.Timeout()*19/20)
	s.lease.Prove(lease.Proof{Begun: now, Touched: touched, Early: touched}, false, now)
}

// The goroutines that wait for the answers to two proofs go on in any order.
func TestAProofThatIsTakenLateLeavesTheLeaseToANewerOne(t *testing.T) {
	const connectRequest = 49
	away := func(n int32, conn net.Conn) net.Conn {
		if n == 2 {
			conn.Close()
			return hangUp(connectRequest)
		}
		return conn
	}
	reconnecting(t, away, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		server.Cut()
		_, err := s.await(t.Context())
		require.NoError(t, err)
		time.Sleep(reconnectTimeout / 4)
		const lasts = reconnectTimeout / 4 * 19 / 20 // while a connect request is unanswered
		begin := func() proof {
			defer time.Sleep(time.Second)
			return s.beginProof()
		}
		first, second := begin(), begin()
		s.proven(second, true)
		require.Equal(t, lasts-time.Second, s.leaseLeft(), "from when it was begun")
		s.proven(first, true)
		require.Equal(t, lasts-time.Second, s.leaseLeft())
		s.proven(begin(), true)
		require.Equal(t, lasts-time.Second, s.leaseLeft())
	})
}

// Its node may have gone unheard while there was no connection.
func TestNothingMakesTheLeaseOfAHoldLongerThatHasNotCheckedIt(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		h := hold(t, s)
		time.Sleep(reconnectTimeout + time.Millisecond) // between two proofs
		operator := connect(t, server)
		ends := func() clock.Instant { return s.client.Clock.Now().Add(s.leaseLeft()) }
		carrier := s.client.Current()
		unheard := server.RefuseRequest(zktest.OpMulti, throttled)
		server.Refuse(true)
		server.CutSession(s.client.ID())
		<-carrier.Down()
		require.NoError(t, operator.client.Conn.Delete(h.Node(), -1))
		server.Refuse(false)
		<-unheard.Struck()
		synctest.Wait()
		before := ends()
		other := take(t, lockAt(s, "/other")) // a create
		require.NoError(t, h.Err())
		require.Equal(t, before, ends())
		require.NoError(t, other.Confirm(t.Context()))
		require.ErrorIs(t, h.Err(), ErrLost, "it is checked along")
		require.Equal(t, before, ends(), "and what is behind it was not")
		require.NoError(t, other.Confirm(t.Context()))
		require.Greater(t, ends().Least(before), time.Duration(0))
		operator.end()
	})
}

// A server checks nothing behind a node that is missing, and no watch is set again yet.
func TestOverANewConnectionAllHoldsAreCheckedThoughOnesNodeIsGone(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		operator := connect(t, server)
		holds := []*Hold{hold(t, s), take(t, lockAt(s, "/other")), take(t, lockAt(s, "/third"))}
		carrier := s.client.Current()
		server.CutSession(s.client.ID())
		<-carrier.Down()
		for _, h := range holds[1:] {
			require.NoError(t, operator.client.Conn.Delete(h.Node(), -1))
		}
		_, err := s.await(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, holds[0].Err())
		for _, h := range holds[1:] {
			require.ErrorIs(t, h.Err(), ErrLost)
		}
		operator.end()
	})
}

// hangUp is a server that reads so much of what it is asked and closes the connection.
func hangUp(request int64) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		_, _ = io.CopyN(io.Discard, theirs, request)
	}()
	return ours
}

// What a session may have beyond a lease that a connect request has shortened is less than the
// time from look to look.
func TestALeaseThatAConnectRequestShortensIsLookedAtMoreOftenFromThenOn(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, c *clock.Clock) {
		h := hold(t, s)
		const look = reconnectTimeout / 32
		time.Sleep(8*look + time.Millisecond)
		unheard := server.HoldReply(zktest.OpConnect)
		server.Cut()
		<-unheard.Struck()
		c.Step(s.leaseLeft() - time.Millisecond)
		awake := time.Now()
		<-h.Lost()
		require.LessOrEqual(t, time.Since(awake), look/4)
		unheard.Release()
	})
}

// clogged is a connection on which nothing goes out while it is stuck.
type clogged struct {
	net.Conn
	stuck *atomic.Bool
	over  chan struct{}
	close func()
}

func clog(conn net.Conn, stuck *atomic.Bool) net.Conn {
	over := make(chan struct{})
	return clogged{conn, stuck, over, sync.OnceFunc(func() { close(over) })}
}

func (c clogged) Write(p []byte) (int, error) {
	if c.stuck.Load() {
		<-c.over
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c clogged) Close() error {
	c.close()
	return c.Conn.Close()
}

// clogging is reconnecting with a first connection on which what is sent once clog was called
// waits inside of go-zookeeper, for the next.
func clogging(t *testing.T, f func(t *testing.T, server *zktest.Server, s *Session, clog func())) {
	t.Helper()
	var stuck atomic.Bool
	wrap := func(n int32, conn net.Conn) net.Conn {
		if n == 1 {
			return clog(conn, &stuck)
		}
		return conn
	}
	reconnecting(t, wrap, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		f(t, server, s, func() {
			stuck.Store(true)
			go s.client.Conn.Get("/") // which blocks the others
			synctest.Wait()
		})
	})
}

// A proof waits inside of go-zookeeper when its connection is given up. The client sends it
// over the next one, whose server hangs.
func TestAServerThatHangsWithAProofOfTheConnectionBeforeIsLeftInTime(t *testing.T) {
	clogging(t, func(t *testing.T, server *zktest.Server, s *Session, clog func()) {
		h := hold(t, s)
		time.Sleep(reconnectTimeout)
		clog()
		hung := server.HoldReply(zktest.OpMulti)
		<-hung.Struck()
		time.Sleep(reconnectTimeout)
		require.NoError(t, h.Err())
	})
}

// The next connection may lead to a server that lags.
func TestASemaphoresSizeCountsOnTheConnectionOnWhichItIsAsNewAsHasToBe(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		sem := NewSemaphore(s, "/sem", 1, defaults())
		h, err := sem.Acquire(t.Context(), 1, nil)
		require.NoError(t, err)
		require.NoError(t, h.Release(t.Context(), nil))
		read := func() *wire.Request {
			read := client.Read("/sem/leases")
			s.client.SendRecent("/sem/leases", read)
			<-read.Done()
			return read
		}
		said, err := sem.sizeSaid(t.Context(), read())
		require.NoError(t, err)
		require.Equal(t, "size=1", string(said.Data))
		late := read()
		synctest.Wait() // until a proof is over
		server.Cut()
		time.Sleep(2 * time.Second)
		_, err = sem.sizeSaid(t.Context(), late)
		require.ErrorIs(t, err, client.ErrStale)
		server.RefuseRequest(zktest.OpMulti, -127) // the write that would show that the server has caught up
		_, err = sem.sizeSaid(t.Context(), read())
		require.ErrorIs(t, err, client.ErrStale)
	})
}

// noted is a connection that notes the lengths of the requests to set watches again.
type noted struct {
	net.Conn
	lengths *[]int
}

func (c noted) Write(p []byte) (int, error) {
	if len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == wire.OpSetWatches {
		*c.lengths = append(*c.lengths, len(p))
	}
	return c.Conn.Write(p)
}

func TestAllRequestsThatSetWatchesAgainButTheLastAreFull(t *testing.T) {
	const much, limit = 300 << 10, 128 << 10
	for _, length := range []int{100, 1 << 10, 8 << 10} { // of a path
		t.Run(strconv.Itoa(length), func(t *testing.T) {
			var lengths []int
			note := func(_ int32, conn net.Conn) net.Conn { return noted{conn, &lengths} }
			reconnecting(t, note, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
				synctest.Wait() // go-zookeeper has looked for watches of a connection before
				for i := range much / length {
					_, _, _, err := s.client.Conn.ExistsW(fmt.Sprintf("/%0*d", length-1, i))
					require.NoError(t, err)
				}
				server.Cut()
				time.Sleep(reconnectTimeout)
				require.Equal(t, wire.Standing{Connection: 2, Set: true}, s.client.Watches())
			})
			require.Greater(t, len(lengths), 2)
			for i, n := range lengths {
				require.LessOrEqual(t, n, limit+4)
				require.True(t, i == len(lengths)-1 || n >= wire.FullRequest, lengths)
			}
		})
	}
}

// slow is an observer whose goroutine waits for its turn on the processor behind what it is told of a connection.
type slow struct{ client.Observer }

func (o slow) Connected(l *wire.Link, timeout time.Duration) {
	o.Observer.Connected(l, timeout)
	time.Sleep(2 * selfWatchDelay)
}

// The watches on its nodes are set again a moment after the session is told of the connection.
func TestAWishForTheLockIsHeardOverAConnectionThatIsSlowToBeTaken(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := NewSession(client.New(sessionTimeout, new(clock.Clock), client.Options{
			Dialer: server.Dial, Hosts: wire.NewHosts(), Logger: slog.New(slog.DiscardHandler),
		}))
		s.client.Observe(slow{s})
		require.NoError(t, s.client.Connect(t.Context(), []string{server.PipeAddr()}, nil))
		t.Cleanup(s.end)
		asking := connect(t, server)
		h := hold(t, s)
		wanted := h.Revoked()
		synctest.Wait()
		server.CutSession(s.client.ID())
		time.Sleep(10 * selfWatchDelay)
		synctest.Wait()
		require.NoError(t, h.Err())
		write(t, asking.client.Conn, h.Node(), []byte(recipe.RevokeMark))
		time.Sleep(sessionTimeout)
		require.True(t, latch.IsClosed(wanted))
	})
}
