package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestAPartOfANamesEndGoesAheadOfOneInItsMiddle(t *testing.T) {
	const first, second, third = "/p/_c_fb961020-8000-000000000002-lock-0000000001", "/p/_c_0c-lock-0000000002", "/p/leases/_c_1c-lease-0000000002"
	v := view{path: "/p", found: []zklock.Contender{{Node: first}, {Node: second}, {Node: third}}}
	for name, want := range map[string]string{
		first: first, "_c_0c-lock-0000000002": second, third: third, "0001": first, "fb961": first, "lock-0000000002": second,
		"1c": third, "lease": third, "": "", "lock": "", "0000000002": "", "/p": "", "/q/_c_0c-lock-0000000002": "", "none": "",
	} {
		c, err := v.one(name)
		require.Equal(t, want, c.Node, name)
		require.Equal(t, want == "", err != nil, name)
	}
}

func TestAWatchThatFindsItsPathCreatedMeanwhileSeesItsChildren(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		watcher, other := connect(t, server), connect(t, server).Conn()
		looking := server.HoldRequest(zktest.OpExists, zktest.OnPath("/p"))
		changed := make(chan struct{}, 1)
		go watchChildren(t.Context(), watcher, "/p", changed)
		<-looking.Struck()
		_, err := other.Create("/p", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		looking.Release()
		synctest.Wait()
		<-changed
		_, err = other.Create("/p/child", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, changed, 1)
	})
}

func TestAPathThatGoesWithASessionIsNoLock(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	_, err := session.Conn().Create("/member", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	v, err := look(t.Context(), session, "/member")
	require.NoError(t, err)
	require.Equal(t, stateNoLock, v.state)
}

func TestANodeBelowAChrootIsShownByItsName(t *testing.T) {
	server := zktest.NewServer(t)
	session, err := zklock.Connect(t.Context(), []string{server.PipeAddr() + "/app"}, 10*time.Second, zklock.WithDialer(server.Dial))
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	path := "/" + strings.Repeat("long", 30)
	l, err := zklock.New(session, path)
	require.NoError(t, err)
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	v, err := look(t.Context(), session, path)
	require.NoError(t, err)
	var table strings.Builder
	require.NoError(t, v.writeTable(&table))
	fields := strings.Fields(table.String())
	shown := fields[len(fields)-1]
	require.Equal(t, strings.TrimPrefix(h.Node(), "/app"+path+"/"), shown)
	require.Len(t, v.named(shown), 1)
	require.Equal(t, h.Node(), v.printableNode(h.Node()))
}

func TestWhatTheServersDoNotTellOfANodeIsShownAsUnknown(t *testing.T) {
	v := view{path: "/p", whole: "/p", at: time.Unix(1000, 0), found: []zklock.Contender{{Node: "/p/x-lock-0000000001", Held: true}}}
	var table strings.Builder
	require.NoError(t, v.writeTable(&table))
	_, shown, _ := strings.Cut(table.String(), "\n")
	require.Equal(t, strings.Fields("holds exclusive - - - - - - - x-lock-0000000001"), strings.Fields(shown))
}
