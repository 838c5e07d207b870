package client

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// mourner is an observer that is slow to take that a node is gone.
type mourner struct {
	nobody
	gone map[string]bool
}

func (m mourner) Deleted(path string) {
	time.Sleep(time.Second)
	m.gone[path] = true
}

func TestTheObserverKnowsThatANodeIsGoneBeforeItsWatchEnds(t *testing.T) {
	for name, late := range map[string]bool{"while it is watched": false, "before it is watched": true} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			m := mourner{gone: make(map[string]bool)}
			c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: server.Dial})
			c.Observe(m)
			require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
			defer c.Close(RequestPatience)
			if !late {
				_, err := c.Conn.Create("/node", nil, 0, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
			}
			w := c.Watch(WatchKey{Path: "/node"})
			if !late {
				<-w.Armed
				go c.Conn.Delete("/node", -1)
			}
			<-w.Fired
			require.True(t, w.Deleted)
			require.True(t, m.gone["/node"])
		})
	}
}

// A proof that goes behind the reads after a reconnect is to be answered in time.
func TestOfManyWatchesSomeAreAskedForAtATimeAndNoneOverAnotherConnection(t *testing.T) {
	for name, cut := range map[string]bool{"over one connection": false, "the connection ends meanwhile": true} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			far := server.Client("far")
			c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: far.Dial})
			c.Observe(nobody{})
			require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
			defer c.Close(RequestPatience)
			reads := func() int { return server.Requests()[zktest.OpGetData] }
			before := reads()
			far.Delay(zktest.ToClient, time.Second, time.Second)
			watched := make([]*Watch, MostAsking+100)
			for i := range watched {
				watched[i] = c.Watch(WatchKey{Path: fmt.Sprintf("/missing-%d", i)})
			}
			synctest.Wait()
			require.Equal(t, MostAsking, reads()-before)
			if cut {
				far.Cut()
			}
			for _, w := range watched {
				<-w.Armed
				<-w.Fired
				require.Equal(t, !cut, w.CameLate())
			}
			time.Sleep(10 * time.Second)
			if cut {
				require.Equal(t, MostAsking, reads()-before)
			}
			synctest.Wait()
			require.Zero(t, c.watches.asking, "no goroutine is left")
		})
	}
}

// standing returns watches over l on the data and on the children of two nodes, by key.
func standing(l *wire.Link) (*watches, map[WatchKey]*Watch) {
	c, at := &Client{link: l}, make(map[WatchKey]*Watch)
	ws := &c.watches
	ws.init(c)
	for _, key := range []WatchKey{{"/a", false}, {"/a", true}, {"/b", false}, {"/b", true}} {
		at[key] = &Watch{Link: l, Armed: make(chan struct{}), Fired: make(chan struct{})}
		ws.at[key] = at[key]
	}
	return ws, at
}

// ended returns the keys of the watches that have, and whether with their node.
func ended(at map[WatchKey]*Watch) map[WatchKey]bool {
	over := make(map[WatchKey]bool)
	for key, w := range at {
		if w.HasFired() {
			over[key] = w.Deleted
		}
	}
	return over
}

func TestWatchesEndWithTheirConnection(t *testing.T) {
	l := new(wire.Link)
	ws, at := standing(l)
	ws.refused["/c"] = struct{}{}
	ws.disconnect(l, 0)
	require.Equal(t, map[WatchKey]bool{{"/a", false}: false, {"/a", true}: false, {"/b", false}: false, {"/b", true}: false}, ended(at),
		"whether the nodes are there nobody knows")
	require.Empty(t, ws.at)
	require.Empty(t, ws.refused)
}

func TestAnEventEndsTheWatchesOfWhatHasChangedAndNoOther(t *testing.T) {
	for _, tc := range []struct {
		event zk.EventType
		ends  map[WatchKey]bool
		told  []string
	}{
		{zk.EventNodeDeleted, map[WatchKey]bool{{"/a", false}: true, {"/a", true}: true}, []string{"deleted /a"}},
		{zk.EventNodeDataChanged, map[WatchKey]bool{{"/a", false}: false}, []string{"changed /a"}},
		{zk.EventNodeChildrenChanged, map[WatchKey]bool{{"/a", true}: false}, nil},
		{zk.EventNodeCreated, map[WatchKey]bool{}, nil},
	} {
		t.Run(tc.event.String(), func(t *testing.T) {
			c, o := unconnected(t, slog.New(slog.DiscardHandler)), new(recorder)
			c.Observe(o)
			ws, at := standing(new(wire.Link))
			c.watches.at = ws.at
			for range 2 { // the second time there is none any more
				c.notify(zk.Event{Type: tc.event, Path: "/a"})
				require.Equal(t, tc.ends, ended(at))
				require.Len(t, c.watches.at, len(at)-len(tc.ends))
				require.Equal(t, tc.told, o.all())
			}
		})
	}
}

func TestAWatchStandsWhenItsReadWasAnsweredOverItsConnection(t *testing.T) {
	l := new(wire.Link)
	for name, tc := range map[string]struct {
		answer        error
		reconnected   bool
		children      bool // are watched
		err           error
		late, refused bool
	}{
		"the node is there":              {},
		"another connection by now":      {reconnected: true, err: zk.ErrConnectionClosed},
		"no node":                        {answer: zk.ErrNoNode, err: zk.ErrNoNode, late: true},
		"no node, another connection":    {answer: zk.ErrNoNode, reconnected: true, err: zk.ErrNoNode, late: true},
		"the connection ends":            {answer: zk.ErrConnectionClosed, err: zk.ErrConnectionClosed},
		"it may not be read":             {answer: zk.ErrNoAuth, err: zk.ErrNoAuth, refused: true},
		"it may not be read there":       {answer: zk.ErrNoAuth, reconnected: true, err: zk.ErrNoAuth, refused: true},
		"it may not be listed":           {answer: zk.ErrNoAuth, children: true, err: zk.ErrNoAuth, refused: true},
		"the session's credential fails": {answer: zk.ErrAuthFailed, err: zk.ErrAuthFailed, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			ws, at := standing(l)
			key := WatchKey{"/a", tc.children}
			w := at[key]
			w.Err = tc.answer // as nobody may read it yet
			require.False(t, w.IsArmed() || w.CameLate() || w.Refusal() != nil, "nothing is known before the answer")
			w.Err = nil
			require.False(t, w.IsArmed())
			if tc.reconnected {
				ws.client.link = new(wire.Link)
			}
			require.Equal(t, tc.err, ws.armed(key, w, tc.answer))
			require.Equal(t, tc.err, w.Err)
			require.Equal(t, tc.err == nil, w.IsArmed())
			require.Equal(t, tc.err != nil, w.HasFired())
			require.Equal(t, tc.err == nil, ws.at[key] == w, "who comes next shares it")
			require.Equal(t, tc.late, w.CameLate())
			require.Equal(t, tc.late, w.Deleted)
			_, noted := ws.refused["/a"]
			require.Equal(t, tc.refused && !tc.reconnected && !tc.children, noted, "it is told at the next recheck")
			if !tc.refused {
				require.NoError(t, w.Refusal())
				return
			}
			require.ErrorIs(t, w.Refusal(), tc.err)
			require.ErrorContains(t, w.Refusal(), "a node in the lock's queue cannot be watched: ")
		})
	}
}

func TestAWatchThatCannotBeSetDoesNotEndTheNextOne(t *testing.T) {
	l, key := new(wire.Link), WatchKey{"/a", false}
	ws, at := standing(l)
	first := at[key]
	next := &Watch{Link: l, Armed: make(chan struct{}), Fired: make(chan struct{})}
	ws.at[key] = next
	require.ErrorIs(t, ws.armed(key, first, zk.ErrNoNode), zk.ErrNoNode)
	require.True(t, first.Deleted)
	require.Same(t, next, ws.at[key])
	require.False(t, next.HasFired())
}

func TestAWatchThatHasFiredStaysAsItIs(t *testing.T) {
	w := &Watch{Armed: make(chan struct{}), Fired: make(chan struct{})}
	w.fire(false)
	w.fire(true)
	require.False(t, w.Deleted)
	require.Nil(t, (*Watch)(nil).End())
	require.True(t, w.End() == w.Fired)
}

func TestWithoutAConnectionOrASessionThereIsNoWatch(t *testing.T) {
	for name, make := range map[string]func(c *Client){
		"no connection":      func(*Client) {},
		"the session closes": func(c *Client) { c.link = new(wire.Link); c.life.end() },
	} {
		t.Run(name, func(t *testing.T) {
			c := unconnected(t, slog.New(slog.DiscardHandler))
			make(c)
			w := c.Watch(WatchKey{"/a", false})
			require.ErrorIs(t, w.Err, zk.ErrConnectionClosed)
			require.True(t, w.HasFired())
			require.False(t, w.IsArmed() || w.Deleted || w.CameLate())
			c.watches.stood = map[string]*Watch{"/a": w}
			c.WatchAgain([]string{"/a"})
			require.Empty(t, c.watches.at, "the next call tries again")
			require.Nil(t, c.watches.recheck)
		})
	}
}

func TestAWatchShowsWhatItWatchesAndIsShared(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server, o := zktest.NewServer(t), new(recorder)
		c := connectTold(t, server, server.Dial, o)
		other := connect(t, server, server.Dial)
		for path, data := range map[string]string{"/lock": "", "/gone": ""} {
			_, err := other.Conn.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		for i := range 2 {
			_, err := other.Conn.Create(fmt.Sprintf("/lock/%d", i), []byte("says"), 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		require.NoError(t, other.Conn.Delete("/gone", -1))
		o.all()

		data := c.Watch(WatchKey{Path: "/lock/0"})
		children := c.Watch(WatchKey{Path: "/lock", Children: true})
		require.Same(t, data, c.Watch(WatchKey{Path: "/lock/0"}))
		require.NotSame(t, children, c.Watch(WatchKey{Path: "/lock"}))
		<-data.Armed
		<-children.Armed
		synctest.Wait()
		require.NoError(t, data.Err)
		require.NoError(t, children.Err)
		require.Equal(t, "says", string(data.Data))
		require.EqualValues(t, 4, data.Stat.DataLength)
		require.ElementsMatch(t, []string{"0", "1"}, children.Names)
		require.EqualValues(t, 2, children.Stat.NumChildren)
		require.Equal(t, 1, server.Requests()[zktest.OpMulti], "the children are as new as what the session was told")
		require.ElementsMatch(t, []string{`read /lock/0 "says"`, `read /lock ""`}, o.all())

		gone := c.Watch(WatchKey{Path: "/gone"})
		missing := c.Watch(WatchKey{Path: "/gone", Children: true})
		synctest.Wait()
		require.True(t, gone.CameLate())
		require.True(t, missing.CameLate())
		require.Equal(t, []string{"deleted /gone", "deleted /gone"}, o.all(), "nothing was read")
		require.Equal(t, 1, server.Requests()[zktest.OpMulti], "the connection has caught up")
		require.Len(t, server.Watches(), 2, "no node that is not there is watched")

		_, err := other.Conn.Set("/lock/0", nil, -1)
		require.NoError(t, err)
		require.NoError(t, other.Conn.Delete("/lock/1", -1))
		synctest.Wait()
		require.True(t, data.HasFired() && children.HasFired())
		require.False(t, data.Deleted || children.Deleted)
		require.NotSame(t, data, c.Watch(WatchKey{Path: "/lock/0"}), "a watch fires once")
	})
}

func TestAWatchThatABusyServerHasRefusedIsNotAskedForAfterItsConnection(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, server *zktest.Server, c *Client){
		"the connection ends":  func(_ *testing.T, server *zktest.Server, _ *Client) { server.Cut() },
		"the client is closed": func(t *testing.T, _ *zktest.Server, c *Client) { require.NoError(t, c.Close(RequestPatience)) },
	} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, c *Client) {
			server.RefuseRequest(zktest.OpGetData, -127)
			w, began := c.Watch(WatchKey{Path: "/"}), time.Now()
			synctest.Wait()
			require.Equal(t, 1, server.Requests()[zktest.OpGetData])
			end(t, server, c)
			<-w.Armed
			require.Zero(t, time.Since(began), "nobody waits for its next try")
			require.Error(t, w.Err)
		})
	}
}

func TestAServerThatRefusesAWatchAgainAndAgainIsAskedLessAndLessOften(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		pauses := time.Duration(0)
		for try := range 6 {
			server.RefuseRequest(zktest.OpGetData, -127)
			pauses += backoff.Before(try + 1)
		}
		began := time.Now()
		w := c.Watch(WatchKey{Path: "/"})
		<-w.Armed
		require.NoError(t, w.Err)
		require.Equal(t, pauses, time.Since(began))
	})
}

func TestTheChildrenAreNotWatchedOverAConnectionThatDoesNotCatchUp(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		server.DropRequest(zktest.OpMulti)
		w := c.Watch(WatchKey{Path: "/", Children: true})
		<-w.Armed
		<-w.Fired
		require.Error(t, w.Err)
		require.False(t, w.Deleted)
		time.Sleep(time.Minute)
		server.RefuseRequest(zktest.OpMulti, -127)
		w = c.Watch(WatchKey{Path: "/", Children: true})
		<-w.Armed
		require.NoError(t, w.Err)
		require.Equal(t, 2, server.Requests()[zktest.OpMulti], "it was asked for once more")
	})
}
