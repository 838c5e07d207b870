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

// away is a client whose connection was cut while watches on some nodes stood.
type away struct {
	*Client
	t        *testing.T
	server   *zktest.Server
	told     *recorder
	operator *zk.Conn
	place    *zktest.Client
}

// watching runs f with a client that watches /same, /changed, /deleted and /replaced, and none else.
func watching(t *testing.T, f func(a *away)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		server, o := zktest.NewServer(t), new(recorder)
		a := &away{t: t, server: server, told: o, operator: connect(t, server, server.Dial).Conn, place: server.Client("away")}
		a.Client = connectTold(t, server, a.place.Dial, o)
		for _, path := range []string{"/same", "/changed", "/deleted", "/replaced", "/unwatched"} {
			a.create(path)
		}
		for _, path := range []string{"/same", "/changed", "/deleted", "/replaced"} {
			w := a.Watch(WatchKey{Path: path})
			synctest.Wait()
			require.True(t, w.IsArmed())
		}
		a.Watch(WatchKey{Path: "/unwatched", Children: true}) // whose data is not
		synctest.Wait()
		f(a)
	})
}

func (a *away) create(path string) {
	_, err := a.operator.Create(path, []byte("says"), 0, zk.WorldACL(zk.PermAll))
	require.NoError(a.t, err)
}

// cut cuts the connection, has f called while there is none, and a write answered over the next one.
func (a *away) cut(f func()) {
	a.place.Block(zktest.ToServer)
	a.place.Cut()
	f()
	synctest.Wait()
	a.told.all()
	a.place.Unblock()
	_, err := a.Await(a.t.Context(), AnySession)
	require.NoError(a.t, err)
	require.NoError(a.t, a.Ask(a.t.Context(), wire.NewTransaction(Check("/same"))))
	synctest.Wait()
}

// change changes the nodes that are called so.
func (a *away) change() {
	_, err := a.operator.Set("/changed", []byte("else"), -1)
	require.NoError(a.t, err)
	require.NoError(a.t, a.operator.Delete("/deleted", -1))
	require.NoError(a.t, a.operator.Delete("/replaced", -1))
	a.create("/replaced")
}

// again sets all watches again, and returns what is told of that.
func (a *away) again() []string {
	a.told.all()
	a.WatchAgain([]string{"/same", "/changed", "/deleted", "/replaced", "/unwatched"})
	synctest.Wait()
	return a.told.all()
}

// whatChanged is what is told of change.
var whatChanged = []string{"changed /changed", "deleted /deleted", "changed /replaced", `read /unwatched "says"`}

func (a *away) requests(op zktest.Op) int { return a.server.Requests()[op] }

// The answer to that write names a later transaction than the changes.
func TestWatchesThatStoodAreSetAgainByOneRequestThatTellsWhatHasChanged(t *testing.T) {
	watching(t, func(a *away) {
		a.cut(a.change)
		reads := a.requests(zktest.OpGetData)
		require.ElementsMatch(a.t, whatChanged, a.again())
		require.Equal(a.t, 1, a.requests(zktest.OpSetWatches))
		require.Equal(a.t, reads+1, a.requests(zktest.OpGetData), "the one that was not watched is read")
		w := a.Standing(WatchKey{Path: "/same"})
		require.Equal(a.t, "says", string(w.Data))
		require.EqualValues(a.t, 4, w.Stat.DataLength)
		require.Nil(a.t, a.Standing(WatchKey{Path: "/changed"}))
		time.Sleep(trust + time.Second)
		require.Empty(a.t, a.told.all(), "the recheck finds what it was")
		require.NoError(a.t, a.operator.Delete("/same", -1))
		synctest.Wait()
		require.True(a.t, w.Deleted)
		require.Equal(a.t, []string{"deleted /same"}, a.told.all())
	})
}

// In between something else may be answered.
func TestWatchesThatWereNotSetAgainBeforeTheNextCutTellOfAllSinceTheirOwn(t *testing.T) {
	watching(t, func(a *away) {
		a.cut(a.change)
		a.Watch(WatchKey{Path: "/unwatched"})
		synctest.Wait()
		a.cut(func() {})
		require.ElementsMatch(a.t, whatChanged[:3], a.again())
	})
}

func TestWatchesWhoseSettingIsNotAnsweredEndWithTheConnection(t *testing.T) {
	watching(t, func(a *away) {
		a.cut(func() {})
		hung := a.server.HoldReply(zktest.OpSetWatches)
		a.again()
		<-hung.Struck()
		w := a.Watch(WatchKey{Path: "/same"}) // who wants it shares it
		a.cut(a.change)
		hung.Release()
		<-w.Armed
		require.ErrorIs(a.t, w.Err, zk.ErrConnectionClosed)
		require.True(a.t, w.HasFired())
		require.Contains(a.t, a.again(), "deleted /deleted")
	})
}

// Its servers may have lost their data, and count anew.
func TestNoWatchOfASessionIsSetAgainInTheNext(t *testing.T) {
	watching(t, func(a *away) {
		a.cut(func() { a.server.ExpireSession(a.ID()) })
		require.Contains(a.t, a.again(), `read /same "says"`)
		require.Zero(a.t, a.requests(zktest.OpSetWatches))
	})
}

func TestAWatchThatWasNotAnsweredDidNotStand(t *testing.T) {
	watching(t, func(a *away) {
		hung := a.server.HoldReply(zktest.OpGetData, zktest.OnPath("/unwatched"))
		a.Watch(WatchKey{Path: "/unwatched"})
		<-hung.Struck()
		a.cut(a.change)
		hung.Release()
		require.ElementsMatch(a.t, whatChanged, a.again())
	})
}

func TestWhatIsWatchedAlreadyIsNotSetAgain(t *testing.T) {
	watching(t, func(a *away) {
		a.cut(func() {})
		w := a.Watch(WatchKey{Path: "/same"})
		synctest.Wait()
		a.again()
		require.Same(a.t, w, a.Standing(WatchKey{Path: "/same"}))
		require.Empty(a.t, a.watches.stood, "nothing is kept in memory")
	})
}

func TestNoRequestThatSetsWatchesAgainIsLongerThanServersTake(t *testing.T) {
	const n, length = 600, 1 << 10
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		var nodes []string
		for i := range n {
			node := fmt.Sprintf("/%0*d", length-1, i)
			_, err := c.Conn.Create(node, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			c.Watch(WatchKey{Path: node})
			nodes = append(nodes, node)
		}
		synctest.Wait()
		server.Cut()
		time.Sleep(time.Second)
		c.WatchAgain(nodes)
		synctest.Wait()
		require.Len(t, server.Watches(), n)
		require.Equal(t, n*length/maxBatch+1, server.Requests()[zktest.OpSetWatches])
	})
}

func TestWatchesSinceATransactionAreSetByOneRequestThatTellsWhatHasChanged(t *testing.T) {
	watching(t, func(a *away) {
		stood := a.Standing(WatchKey{Path: "/same"})
		created := stood.Stat.Czxid
		a.create("/new")
		a.create("/gone")
		require.NoError(a.t, a.operator.Delete("/gone", -1))
		a.told.all()
		reads := a.requests(zktest.OpGetData)
		since := a.WatchSince(created, "/same", "/unwatched", "/new", "/gone")
		synctest.Wait()
		require.Same(a.t, stood, since[0])
		require.True(a.t, since[1].HasFired(), "/unwatched is younger")
		require.True(a.t, since[2].HasFired())
		require.True(a.t, since[2].IsArmed())
		require.True(a.t, since[3].CameLate())
		require.True(a.t, since[3].Gone())
		require.ElementsMatch(a.t, []string{"changed /unwatched", "changed /new", "deleted /gone"}, a.told.all())
		require.Equal(a.t, 1, a.requests(zktest.OpSetWatches))
		require.Equal(a.t, reads, a.requests(zktest.OpGetData))
		_, stat, err := a.operator.Get("/new")
		require.NoError(a.t, err)
		w := a.WatchSince(stat.Mzxid, "/new")[0]
		time.Sleep(trust + time.Second)
		require.False(a.t, w.HasFired(), "the recheck finds what it was")
		a.cut(func() {})
		a.WatchAgain([]string{"/new"})
		w = a.Watch(WatchKey{Path: "/new"})
		time.Sleep(trust + time.Second)
		require.False(a.t, w.HasFired(), "here too")
		require.NoError(a.t, a.operator.Delete("/new", -1))
		synctest.Wait()
		require.True(a.t, w.Gone())
	})
}

func TestAWatchThatWasSetUnreadEndsSoonIfItsNodeMayNotBeRead(t *testing.T) {
	watching(t, func(a *away) {
		stat := a.Standing(WatchKey{Path: "/same"}).Stat
		a.create("/hidden")
		_, err := a.operator.SetACL("/hidden", zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		require.NoError(a.t, err)
		for range 2 {
			w := a.WatchSince(stat.Mzxid+100, "/unwatched", "/hidden")
			time.Sleep(2*time.Second + 1)
			synctest.Wait()
			require.False(a.t, w[0].HasFired())
			require.True(a.t, w[1].HasFired())
			require.False(a.t, w[1].Deleted)
		}
		require.Nil(a.t, a.watches.reading)
		reads := a.requests(zktest.OpGetData)
		time.Sleep(10 * time.Second)
		require.Equal(a.t, reads, a.requests(zktest.OpGetData), "once is enough")
		a.WatchSince(stat.Mzxid+100, "/changed", "/hidden")
		a.Close(0)
		require.False(a.t, a.watches.reading.Stop(), "no timer is left")
	})
}

func TestWhereWatchesMayNotBeSetTheNodesAreRead(t *testing.T) {
	watching(t, func(a *away) {
		a.server.RefuseRequest(zktest.OpSetWatches, -127)
		w := a.WatchSince(1, "/unwatched")[0]
		synctest.Wait()
		require.True(a.t, w.IsArmed())
		require.NotNil(a.t, w.Stat)
		a.place.Block(zktest.ToServer)
		a.place.Cut()
		synctest.Wait()
		require.ErrorIs(a.t, a.WatchSince(1, "/unwatched")[0].Err, zk.ErrConnectionClosed)
	})
}
