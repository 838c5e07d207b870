package membership_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// abandon joins for a second.
func abandon(t *testing.T, s *zklock.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := membership.Join(ctx, s, path, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// line is a client's connection, which it can be made to close: what it has sent is
// still on its way then.
type line struct {
	server *zktest.Server
	now    atomic.Pointer[net.Conn]
}

func (l *line) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := l.server.Dial(network, addr, timeout)
	if err == nil {
		l.now.Store(&conn)
	}
	return conn, err
}

func (l *line) hangUp() { (*l.now.Load()).Close() }

// made returns a count of the members' nodes that the server makes from now on.
func made(server *zktest.Server) *atomic.Int32 {
	n := new(atomic.Int32)
	server.Observe(func(txn zktest.Txn) {
		for _, change := range txn.Changes {
			if change.Kind == zktest.NodeCreated && change.Owner != 0 {
				n.Add(1)
			}
		}
	})
	return n
}

func TestACreateThatArrivesAfterLeaveHasReturnedLeavesNoNode(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		client := &line{server: server}
		s := connect(t, server, zklock.WithDialer(client.dial))
		require.NoError(t, join(t, s, "first").Leave(t.Context())) // makes the path
		created := made(server)
		held := server.HoldRequest(zktest.OpCreate, zktest.OnPath(path+"/member-"))
		time.AfterFunc(time.Second, client.hangUp)
		m := join(t, s, "one")
		<-held.Struck()
		require.NoError(t, m.Leave(t.Context()))
		held.Release()
		require.NoError(t, join(t, s, "two").Leave(t.Context()))
		time.Sleep(2 * timeout)
		require.EqualValues(t, 2, created.Load(), "one and two, by the second connection")
		require.Empty(t, server.Children(path))
	})
}

func TestACreateThatIsExecutedInTheNextSessionLeavesNoNode(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		first := s.ID()
		require.NoError(t, join(t, s, "first").Leave(t.Context()))
		created := made(server)
		server.Refuse(true)
		server.Cut()
		abandon(t, s)
		require.True(t, server.ExpireSession(first))
		server.Refuse(false)
		eventually(t, "the create to be executed", func() bool { return created.Load() == 1 })
		require.NotEqual(t, first, s.ID())
		eventually(t, "the node to be deleted", func() bool { return len(server.Children(path)) == 0 })
	})
}

func TestARegistrationThatIsUnderWayWhenLeaveGivesUpLeavesNoNode(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		m := join(t, s, "one")
		created := made(server)
		held := server.HoldRequest(zktest.OpCreate, zktest.OnPath(path+"/member-"))
		require.True(t, server.ExpireSession(s.ID()))
		<-held.Struck()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, m.Leave(ctx), context.DeadlineExceeded)
		held.Release()
		require.NoError(t, m.Leave(t.Context()))
		require.EqualValues(t, 1, created.Load(), "the create was executed all the same")
		require.Empty(t, server.Children(path))
	})
}

// However far a call gets until its ctx ends, the server is left as it was.
func TestAJoinThatEndsWhileItsPathIsMadeLeavesNoPath(t *testing.T) {
	const oneWay = 5 * time.Millisecond
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithContainerInterval(time.Second))
		far := server.Client("far away")
		s := connect(t, server, zklock.WithDialer(far.Dial))
		for _, way := range []zktest.Direction{zktest.ToServer, zktest.ToClient} {
			far.Delay(way, oneWay, oneWay)
		}
		for patience := oneWay / 2; ; patience += oneWay {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			m, err := membership.Join(ctx, s, path, nil)
			cancel()
			if err == nil {
				require.NoError(t, m.Leave(t.Context()))
			}
			time.Sleep(time.Minute)
			require.Empty(t, server.Nodes(), "after a call of %v", patience)
			if err == nil {
				return
			}
		}
	})
}
