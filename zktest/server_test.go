package zktest_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestAClientOverTCPCreatesReadsAndDeletes(t *testing.T) {
	s := zktest.NewServer(t)
	c := connect(t, net.DialTimeout, s.Addr())
	path, err := c.Create("/a", []byte("x"), 0, open)
	require.NoError(t, err)
	require.Equal(t, "/a", path)
	data, stat, err := c.Get("/a")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.EqualValues(t, 1, stat.DataLength)
	require.NoError(t, c.Delete("/a", 0))
	exists, _, err := c.Exists("/a")
	require.NoError(t, err)
	require.False(t, exists)
}

func TestASessionOutlivesItsConnectionInVirtualTime(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := zktest.NewServer(t)
		c := client(t, s)
		id := c.SessionID()
		_, err := c.Create("/e", nil, zk.FlagEphemeral, open)
		require.NoError(t, err)
		time.Sleep(10 * time.Minute)
		s.Cut()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, id, c.SessionID())
		_, stat, err := c.Get("/e")
		require.NoError(t, err)
		require.Equal(t, id, stat.EphemeralOwner)
	})
}

func TestAnExpiredSessionLosesItsNodesAndFiresWatches(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := zktest.NewServer(t)
		a, b := client(t, s), client(t, s)
		_, err := a.Create("/e", nil, zk.FlagEphemeral, open)
		require.NoError(t, err)
		_, _, gone, err := b.GetW("/e")
		require.NoError(t, err)
		old := a.SessionID()
		require.True(t, s.ExpireSession(old))
		require.Equal(t, zk.EventNodeDeleted, (<-gone).Type)
		time.Sleep(3 * time.Second)
		require.NotEqual(t, old, a.SessionID())
		require.False(t, s.ExpireSession(old))
	})
}

func TestASilentSessionEndsOnATickAfterItsTimeout(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := zktest.NewServer(t, zktest.WithTickTime(300*time.Millisecond))
		place := s.Client("a")
		a, b := connectFor(t, time.Second, place.Dial, s.PipeAddr()), client(t, s)
		_, err := a.Create("/e", nil, zk.FlagEphemeral, open)
		require.NoError(t, err)
		_, _, gone, err := b.GetW("/e")
		require.NoError(t, err)
		start := time.Now()
		place.Block(zktest.ToServer)
		<-gone
		require.Greater(t, time.Since(start), time.Second)
		require.LessOrEqual(t, time.Since(start), 1300*time.Millisecond)
	})
}

func TestALostReplyLeavesTheNodeBehind(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := zktest.NewServer(t)
		c := client(t, s)
		s.DropReply(zktest.OpCreate)
		_, err := c.Create("/a", nil, 0, open)
		require.Error(t, err)
		time.Sleep(5 * time.Second) // go-zookeeper fails requests made while it looks for a server
		exists, _, err := c.Exists("/a")
		require.NoError(t, err)
		require.True(t, exists)
	})
}

func TestALostRequestLeavesNothing(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := zktest.NewServer(t)
		c := client(t, s)
		s.DropRequest(zktest.OpCreate)
		_, err := c.Create("/a", nil, 0, open)
		require.Error(t, err)
		time.Sleep(5 * time.Second) // go-zookeeper fails requests made while it looks for a server
		exists, _, err := c.Exists("/a")
		require.NoError(t, err)
		require.False(t, exists)
	})
}

func TestAServerWithoutContainersHangsUpWithAnAnswerOrWithout(t *testing.T) {
	for answered, says := range map[bool]string{false: zk.ErrConnectionClosed.Error(), true: "unknown error: -6"} {
		virtual.Test(t, func(t *testing.T) {
			s := zktest.NewServer(t, zktest.WithoutContainers(answered))
			c := client(t, s)
			id := c.SessionID()
			_, err := c.CreateContainer("/a", nil, zk.FlagContainer, open)
			require.EqualError(t, err, says)
			time.Sleep(2 * time.Second)
			_, err = c.Create("/a", nil, zk.FlagPersistent, open)
			require.NoError(t, err)
			require.Equal(t, id, c.SessionID(), "the session outlives it")
		})
	}
}

func TestAServerThatIsToldToLookForContainersNeverKeepsThem(t *testing.T) {
	for _, never := range []time.Duration{0, -time.Second} {
		virtual.Test(t, func(t *testing.T) {
			s := zktest.NewServer(t, zktest.WithContainerInterval(never))
			c := client(t, s)
			_, err := c.CreateContainer("/a", nil, zk.FlagContainer, open)
			require.NoError(t, err)
			_, err = c.Create("/a/b", nil, zk.FlagPersistent, open)
			require.NoError(t, err)
			require.NoError(t, c.Delete("/a/b", -1))
			time.Sleep(time.Hour)
			exists, _, err := c.Exists("/a")
			require.NoError(t, err)
			require.True(t, exists)
		})
	}
}
