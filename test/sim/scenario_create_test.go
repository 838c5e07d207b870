package sim

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestF02ACreateWhoseReplyIsLostLeavesOneNode(t *testing.T) {
	for _, servers := range []int{1, 3} {
		play(t, servers, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake())) // makes the path, without which the create is refused
			lost := s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
			h := a.mustTake()
			<-lost.Struck()
			s.heldBy(a, h)
			require.Equal(t, 2, s.created())
			require.NoError(t, a.give(h))
			s.empty(0)
		})
	}
}

func TestF03ACreateThatWasNeverSentLeavesOneNode(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		s.DropRequest(zktest.OpCreate, zktest.OnPath(path+"/"))
		h := a.mustTake()
		require.Equal(t, 1, s.created())
		require.NoError(t, a.give(h))
	})
}

func TestF04ALostCreateIsFoundThoughTheNextServerLags(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		require.NoError(t, a.give(a.mustTake())) // makes the path
		time.Sleep(tick)                         // so that the others know all that a has seen
		mine, others := a.server()
		for _, other := range others {
			other.Lag(200 * time.Millisecond)
		}
		lost := mine.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
		go func() {
			<-lost.Struck()
			mine.Refuse(true)
		}()
		before := s.created()
		h := a.mustTake()
		s.heldBy(a, h)
		require.Equal(t, before+1, s.created())
		require.NoError(t, a.give(h))
		s.empty(0)
	}, zktest.WithServerLatency(time.Millisecond, time.Millisecond))
}

// The connection before it has shown that the server had applied what was written there, which
// the create is not among.
func TestALostCreateIsFoundThoughTheServerIsTheOneBeforeAndLags(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		a.moveToFollower()
		require.NoError(s, a.give(a.mustTake())) // the server has caught up by this connection
		mine, others := a.server()
		for _, other := range others {
			other.Refuse(true)
		}
		mine.Lag(200 * time.Millisecond)
		before := s.created()
		waiting := a.waits(context.Background()) // for an answer: the create is committed
		a.place.Cut()
		h := s.granted(waiting)
		again, _ := a.server()
		require.Equal(s, mine, again)
		s.heldBy(a, h)
		require.Equal(s, before+1, s.created(), "the create is sent again: the list that looked for its node is older than that")
		require.NoError(s, a.give(h))
		s.empty(0)
	}, zktest.WithServerLatency(time.Millisecond, time.Millisecond))
}

// CURATOR-498, CURATOR-604. The old session's node stays until the server ends that.
func TestF05TheNodeOfADeadSessionIsNotAdopted(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, forget := s.enterForgotten("a")
		require.NoError(t, a.give(a.mustTake()))
		dead := a.ID()
		s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
		forget.Store(true)
		h := a.mustTake()
		require.NotEqual(t, dead, a.ID())
		require.Equal(t, 3, s.created())
		s.heldBy(a, h)
		require.NoError(t, a.give(h))
		s.empty(0)
	})
}

func TestF06ACreateThatIsExecutedInTheNextSessionIsDeleted(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a", zklock.WithAuth("digest", []byte("user:secret")))
		require.NoError(t, a.give(a.mustTake()))
		first := a.ID()
		// After the handshake the client sends its credentials, and what it is
		// asked for meanwhile waits until they are accepted, by whatever connection.
		login := s.HoldReply(zktest.OpAuth)
		a.place.Cut()
		<-login.Struck()
		synctest.Wait()
		const callers = 4
		results := make(chan *zklock.Hold, callers)
		for range callers {
			ctx, cancel := context.WithTimeout(context.Background(), anAge)
			defer cancel()
			go func() {
				h, _ := a.take(ctx)
				results <- h
			}()
		}
		synctest.Wait()
		a.expire()
		a.place.Cut()
		login.Release()
		for range callers {
			h := <-results
			require.NotNil(t, h)
			require.NotEqual(t, first, a.ID())
			s.heldBy(a, h)
			require.NoError(t, a.give(h))
		}
		s.empty(time.Second)
	})
}

func TestF07ACreateThatArrivesByAnOldServerMakesNoNode(t *testing.T) {
	play(t, 3, func(s *stage) {
		a := s.enter("a")
		require.NoError(t, a.give(a.mustTake()))
		a.moveToFollower() // whose requests have to travel on
		mine, others := a.server()
		s.Block(mine, s.Leader())
		waiting := make(chan *zklock.Hold)
		go func() { waiting <- a.mustTake() }()
		time.Sleep(50 * time.Millisecond)
		mine.Refuse(true)
		a.place.Cut()
		h := <-waiting
		require.Contains(t, others, func() *zktest.Server { now, _ := a.server(); return now }())
		s.Heal()
		time.Sleep(time.Second)
		require.Equal(t, []string{h.Node()}, s.checker.nodes())
		require.NoError(t, a.give(h))
		s.empty(0)
	}, zktest.WithServerLatency(time.Millisecond, time.Millisecond))
}

// The search for the node of a lost create may be refused, by an ACL that keeps its
// caller from the list. The node stays then until a list shows it.
func TestF07ANodeThatNoCallKnowsOfIsDeletedWhenAListShowsIt(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, operator := s.enter("a"), s.enter("operator")
		require.NoError(s, a.give(a.mustTake()))
		mayRead := func(acl []zk.ACL) {
			_, err := operator.Conn().SetACL(path, acl, -1)
			require.NoError(s, err)
		}
		mayRead(zk.WorldACL(zk.PermAll &^ zk.PermRead))
		s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
		require.ErrorIs(s, a.LockContext(context.Background()), zk.ErrNoAuth)
		require.Len(s, s.checker.nodes(), 1)
		mayRead(zk.WorldACL(zk.PermAll))
		require.NoError(s, a.give(a.mustTake()))
		s.empty(0)
	})
}

func TestF08ACallWhoseCtxEndsReturnsAtOnceAndLeavesNoNode(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpCreate, zktest.OpGetChildren2} {
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			require.NoError(t, a.give(a.mustTake()))
			held := s.HoldReply(op, zktest.OnPath(path))
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := a.LockContext(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(start), 100*time.Millisecond+soon)
			held.Release()
			s.empty(time.Second)
		})
	}
}

// A caller that looks for the node of a lost create is told of Close as every
// other one is.
func TestACloseDuringTheSearchForALostCreateIsToldAsSuch(t *testing.T) {
	for range 20 { // a select picked at random
		play(t, 1, func(s *stage) {
			a := s.enter("a")
			lost := s.DropReply(zktest.OpCreate, zktest.OnPath(path+"/"))
			result := make(chan error)
			go func() { result <- a.LockContext(context.Background()) }()
			<-lost.Struck()
			s.Server(0).Refuse(true)
			time.Sleep(100 * time.Millisecond)
			a.Session.Close()
			err := <-result
			require.ErrorIs(t, err, zklock.ErrClosed)
			require.NotErrorIs(t, err, context.Canceled)
			s.empty(timeout + tick)
		})
	}
}

// The head of a reply arrived without its tail: the create was taken for refused.
func TestHalfAReplyToACreateSaysNothing(t *testing.T) {
	play(t, 1, func(s *stage) {
		var armed atomic.Bool
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		place := s.Client("a")
		session, err := zklock.Connect(ctx, s.PipeAddrs(), timeout,
			zklock.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
				conn, err := place.Dial(network, addr, d)
				if err != nil {
					return nil, err
				}
				return &halfConn{Conn: conn, armed: &armed, cut: cancel}, nil
			}))
		require.NoError(s, err)
		defer session.Close()
		l, err := zklock.New(session, path)
		require.NoError(s, err)
		l.Lock()
		require.NoError(s, l.UnlockContext(ctx))
		armed.Store(true)
		require.ErrorIs(s, l.LockContext(ctx), context.Canceled)
		require.False(s, armed.Load())
		s.empty(timeout)
	})
}

// halfConn breaks in the middle of the reply to the first create of a node that is
// written while it is armed.
type halfConn struct {
	net.Conn
	armed  *atomic.Bool
	cut    func()
	xid    atomic.Uint32
	broken bool
}

func (c *halfConn) Write(p []byte) (int, error) {
	const create = 1
	if len(p) > 12 && binary.BigEndian.Uint32(p[8:]) == create && c.armed.CompareAndSwap(true, false) {
		c.xid.Store(binary.BigEndian.Uint32(p[4:]))
	}
	return c.Conn.Write(p)
}

func (c *halfConn) Read(p []byte) (int, error) {
	const head = 24
	if c.broken {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p)
	if xid := c.xid.Load(); xid != 0 && n > head && binary.BigEndian.Uint32(p[4:]) == xid {
		c.broken = true
		c.cut()
		c.Conn.Close()
		n = head
	}
	return n, err
}
