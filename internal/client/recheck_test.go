package client

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// watched returns watches on the data and on the children of /node, and a client of somebody else.
func watched(t *testing.T, server *zktest.Server, o Observer) (c *Client, data, children *Watch, operator *zk.Conn) {
	t.Helper()
	operator = connect(t, server, server.Dial).Conn
	for _, path := range []string{"/node", "/node/child"} {
		_, err := operator.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	c = connectTold(t, server, server.Dial, o)
	data, children = c.Watch(WatchKey{Path: "/node"}), c.Watch(WatchKey{Path: "/node", Children: true})
	synctest.Wait()
	require.True(t, data.IsArmed() && children.IsArmed())
	return c, data, children, operator
}

func TestAWatchOfWhichTheServerDoesNotTellEndsWithinAMinute(t *testing.T) {
	const hidden = zk.PermAll &^ zk.PermRead
	for name, tc := range map[string]struct {
		change         func(t *testing.T, conn *zk.Conn)
		then           int32 // who may do what with the node
		data, children bool  // whose watches end
		told           []string
	}{
		"the node says something else": {func(t *testing.T, conn *zk.Conn) {
			_, err := conn.Set("/node", []byte("new"), -1)
			require.NoError(t, err)
		}, zk.PermAll, true, false, []string{"changed /node"}},
		"the node has another child": {func(t *testing.T, conn *zk.Conn) {
			_, err := conn.Create("/node/other", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}, zk.PermAll, false, true, []string{"changed /node"}},
		"the node is gone": {func(t *testing.T, conn *zk.Conn) {
			require.NoError(t, conn.Delete("/node/child", -1))
			require.NoError(t, conn.Delete("/node", -1))
		}, zk.PermAll, true, true, []string{"deleted /node", "changed /node", "deleted /node", "changed /node"}},
		"the node may not be read any more": {func(*testing.T, *zk.Conn) {}, hidden, true, true, []string{"changed /node", "changed /node"}},
		"the node's child says something else": {func(t *testing.T, conn *zk.Conn) {
			_, err := conn.Set("/node/child", []byte("new"), -1)
			require.NoError(t, err)
		}, zk.PermAll, false, false, nil},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server, o := zktest.NewServer(t), new(recorder)
			_, data, children, operator := watched(t, server, o)
			o.all()
			_, err := operator.SetACL("/node", zk.WorldACL(hidden), -1) // of what changes now nobody is told
			require.NoError(t, err)
			tc.change(t, operator)
			if _, err = operator.SetACL("/node", zk.WorldACL(tc.then), -1); err != zk.ErrNoNode {
				require.NoError(t, err)
			}
			time.Sleep(trust - time.Second)
			require.False(t, data.HasFired() || children.HasFired(), "it is not told")
			time.Sleep(2 * time.Second)
			require.Equal(t, tc.data, data.HasFired())
			require.Equal(t, tc.children, children.HasFired())
			require.False(t, data.Deleted || children.Deleted, "who waits for it looks for himself")
			require.Equal(t, tc.told, o.all())
		})
	}
}

func TestWhatIsWatchedIsReadOnceAMinuteAsLongAsItIsWatched(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c, data, children, operator := watched(t, server, nobody{})
		reads := func() [2]int {
			requests := server.Requests()
			return [2]int{requests[zktest.OpGetData], requests[zktest.OpGetChildren2]}
		}
		before := reads()
		time.Sleep(time.Hour + time.Second)
		require.False(t, data.HasFired() || children.HasFired())
		require.Equal(t, [2]int{before[0] + 60, before[1] + 60}, reads())
		require.Len(t, server.Watches(), 1, "the reads leave no watch")
		_, err := operator.Set("/node", nil, -1)
		require.NoError(t, err)
		require.NoError(t, operator.Delete("/node/child", -1))
		synctest.Wait()
		require.True(t, data.HasFired() && children.HasFired())
		before = reads()
		time.Sleep(time.Hour)
		require.Equal(t, before, reads())
		require.Nil(t, c.watches.recheck)
		w := c.Watch(WatchKey{Path: "/node"})
		time.Sleep(trust + time.Second)
		require.True(t, w.IsArmed())
		require.Equal(t, before[0]+2, reads()[0], "watches are rechecked again")
		time.Sleep(trust)
		require.Equal(t, before[0]+3, reads()[0])
	})
}

// again watches again what has changed.
type again struct {
	*recorder
	c *Client
}

func (a *again) Changed(path string) {
	a.recorder.Changed(path)
	a.c.Watch(WatchKey{Path: path})
}

// Whoever still needs it may be let in by now.
func TestWhatMayNotBeReadIsToldOnceAMinuteAsLongAsItIsWatchedAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server, a := zktest.NewServer(t), &again{recorder: new(recorder)}
		operator := connect(t, server, server.Dial).Conn
		for path, acl := range map[string][]zk.ACL{"/node": zk.WorldACL(zk.PermAll &^ zk.PermRead), "/other": zk.WorldACL(zk.PermAll)} {
			_, err := operator.Create(path, nil, 0, acl)
			require.NoError(t, err)
		}
		a.c = connectTold(t, server, server.Dial, a)
		a.c.Watch(WatchKey{Path: "/other"})
		w := a.c.Watch(WatchKey{Path: "/node"})
		synctest.Wait()
		require.ErrorIs(t, w.Refusal(), zk.ErrNoAuth)
		a.all()
		for range 3 {
			time.Sleep(trust)
			synctest.Wait()
			require.Equal(t, []string{"changed /node"}, a.all())
		}
		_, err := operator.SetACL("/node", zk.WorldACL(zk.PermAll), -1)
		require.NoError(t, err)
		time.Sleep(trust)
		synctest.Wait()
		require.Equal(t, []string{"changed /node", `read /node ""`}, a.all())
		time.Sleep(10 * trust)
		require.Empty(t, a.all())
	})
}

func TestARecheckEndsTheWatchThatItHasLookedAtAndNoOther(t *testing.T) {
	ws, at := standing(new(wire.Link))
	c, o := ws.client, new(recorder)
	c.Observe(o)
	require.Empty(t, ws.standing(), "none is set yet")
	key := WatchKey{Path: "/a"}
	close(at[key].Armed)
	require.Equal(t, map[WatchKey]*Watch{key: at[key]}, ws.standing())
	c.EndWatch(key, new(Watch)) // another one stands for it by now
	require.Empty(t, ended(at))
	require.Empty(t, o.all())
	c.EndWatch(key, at[key])
	require.Equal(t, []string{"changed /a"}, o.all())
	require.Equal(t, map[WatchKey]bool{key: false}, ended(at))
	require.NotContains(t, ws.at, key)
}

// A recheck of thousands of nodes is no matter of those who have a request to make.
func TestARecheckReadsOneNodeAfterTheOther(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const nodes, roundTrip = 50, 100 * time.Millisecond
		server := zktest.NewServer(t, zktest.WithLatency(roundTrip/2, roundTrip/2))
		c := connect(t, server, server.Dial)
		for i := range nodes {
			_, err := c.Conn.Create(fmt.Sprintf("/%d", i), nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			<-c.Watch(WatchKey{Path: fmt.Sprintf("/%d", i)}).Armed
		}
		before := server.Requests()[zktest.OpGetData]
		c.watches.mu.Lock()
		c.watches.recheck.Reset(0)
		c.watches.mu.Unlock()
		time.Sleep(nodes/2*roundTrip + roundTrip/4)
		require.InDelta(t, nodes/2, server.Requests()[zktest.OpGetData]-before, 1)
		require.NoError(t, c.Close(RequestPatience), "which ends the recheck")
		require.False(t, c.watches.recheck.Stop(), "no timer is left")
		time.Sleep(time.Hour)
		require.InDelta(t, nodes/2, server.Requests()[zktest.OpGetData]-before, 2)
	})
}

// Close ends the session within a round trip, and not when all that wait have had their turn.
func TestCloseAsksForNoWatchesThatWaitForTheirTurn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const roundTrip = 300 * time.Millisecond
		server := zktest.NewServer(t, zktest.WithLatency(roundTrip/2, roundTrip/2))
		c := connect(t, server, server.Dial)
		var asked []*Watch
		for i := range 10 * MostAsking {
			asked = append(asked, c.Watch(WatchKey{Path: fmt.Sprintf("/missing-%d", i)}))
		}
		began := time.Now()
		c.Shut()()
		late := c.Watch(WatchKey{Path: "/late"})
		<-late.Armed
		require.ErrorIs(t, late.Err, zk.ErrConnectionClosed)
		require.Zero(t, time.Since(began))
		require.NoError(t, c.Close(RequestPatience))
		require.LessOrEqual(t, time.Since(began), 3*roundTrip)
		require.Equal(t, MostAsking, server.Requests()[zktest.OpGetData])
		for _, w := range asked {
			require.True(t, w.HasFired())
			<-w.Armed
		}
	})
}
