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

// What reviews have found in how the lock follows its connection.

var twoLogins = []zklock.SessionOption{
	zklock.WithAuth("digest", []byte("user:secret")), zklock.WithAuth("digest", []byte("other:secret")),
}

// A server answers credentials itself, without touching the session: a lease that
// counted that as a touch outlived the session.
func TestTheAnswerToALoginIsNoTouch(t *testing.T) {
	play(t, 3, func(s *stage) {
		time.Sleep(tick)
		var follower *zktest.Server
		for _, server := range s.Servers() {
			if server != s.Leader() {
				follower = server
			}
		}
		a := s.enterAt("a", []string{follower.PipeAddr()}, twoLogins...)
		require.NoError(s, a.give(a.mustTake()))
		time.Sleep(timeout)

		// The touch that the new connection is, is relayed with the next tick.
		time.Sleep(time.Until(time.Now().Truncate(tick).Add(tick - 20*time.Millisecond)))
		first, second := s.HoldReply(zktest.OpAuth), s.HoldReply(zktest.OpAuth)
		s.CutSession(a.ID())
		time.Sleep(600 * time.Millisecond)
		first.Release()
		time.Sleep(600 * time.Millisecond)
		second.Release()
		time.Sleep(510 * time.Millisecond)
		h := a.mustTake()
		s.Partition(follower)
		gone := s.gone(h.Node())
		<-h.Lost()
		require.True(s, isOpen(gone), "the session ended before its hold was lost")
		<-gone
		s.Heal()
	})
}

// Nothing is written until the last of the credentials has been answered.
func TestUnlockDoesNotWaitForTheSecondOfTwoLogins(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a", twoLogins...)
		a.Lock()
		first, second := s.HoldReply(zktest.OpAuth), s.HoldReply(zktest.OpAuth)
		s.CutSession(a.ID())
		<-first.Struck()
		first.Release()
		<-second.Struck()
		start := time.Now()
		a.Unlock()
		require.Less(s, time.Since(start), soon)
		second.Release()
		s.empty(time.Second)
	})
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

// One node that cannot be proved, since an ACL hides it, failed the proof of all.
func TestANodeThatAnACLHidesCostsOnlyItsOwnHold(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		h := a.mustTake()
		_, err := a.Conn().Create("/hidden", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(s, err)
		hidden, err := zklock.New(a.Session, "/hidden", zklock.WithACL(zk.WorldACL(zk.PermAll&^zk.PermRead)))
		require.NoError(s, err)
		unsure, err := hidden.Acquire(context.Background())
		require.NoError(s, err)
		<-unsure.Lost()
		time.Sleep(timeout)
		require.NoError(s, h.Err())
		require.NoError(s, a.give(h))
		s.empty(time.Second)
	})
}

// One delete that is refused failed the others that were sent in one transaction
// with it, whose nodes stayed.
func TestADeleteThatIsRefusedIsNoMatterOfTheOthers(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		const kept = "/kept"
		_, err := a.Conn().Create(kept, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermDelete))
		require.NoError(s, err)
		l, err := zklock.New(a.Session, kept)
		require.NoError(s, err)
		free := a.mustTake()
		holds := make(chan *zklock.Hold)
		for range 3 {
			go func() {
				h, err := l.Acquire(context.Background())
				if err != nil {
					t.Error(err)
				}
				holds <- h
			}()
			synctest.Wait()
		}
		alone := s.HoldReply(zktest.OpMulti, zktest.OnPath(kept)) // a delete, with a check; those after it go together
		go (<-holds).Release(context.Background())
		<-alone.Struck()
		second := <-holds
		go second.Release(context.Background())
		synctest.Wait()
		released := make(chan error, 1)
		go func() { released <- a.give(free) }()
		synctest.Wait()
		<-holds
		alone.Release()
		require.NoError(s, <-released)
		for _, node := range s.referee.nodes() {
			require.Equal(s, kept, dirOf(node))
		}
	})
}

// Who is at the head of the queue by its list may wait for a second proof. When
// its connection is another one by then, and the lease was renewed for another lock
// of its session, nothing but a new list tells whether its node is still there.
func TestAHeadOfTheQueueByAListOfAnotherConnectionListsAnew(t *testing.T) {
	play(t, 3, func(s *stage) {
		a, operator := s.enter("a"), s.enter("operator")
		other, err := zklock.New(a.Session, "/other")
		require.NoError(s, err)
		renewal, err := other.Acquire(context.Background()) // so that both paths are there
		require.NoError(s, err)
		require.NoError(s, renewal.Release(context.Background()))
		require.NoError(s, a.give(a.mustTake()))
		time.Sleep(timeout)

		slow := s.HoldReply(zktest.OpCreate, zktest.OnPath(path+"/")) // which casts doubt on the lease
		first, second := s.DropReply(zktest.OpMulti), s.DropReply(zktest.OpMulti)
		waiting := a.waits(context.Background())
		<-slow.Struck()
		time.Sleep(timeout / 50)
		slow.Release()
		synctest.Wait()
		nodes := s.referee.nodes()
		require.Len(s, nodes, 1)
		require.NoError(s, operator.Conn().Delete(nodes[0], -1))
		<-first.Struck()
		<-second.Struck() // after which a pauses
		renewal, err = other.Acquire(context.Background())
		require.NoError(s, err)
		h := <-waiting
		require.NotNil(s, h)
		require.NotEqual(s, nodes[0], h.Node())
		require.NoError(s, a.give(h))
		require.NoError(s, renewal.Release(context.Background()))
	})
}
