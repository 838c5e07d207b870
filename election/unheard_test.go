package election_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// A server tells a session nothing of a node that it may not read.
func TestAnObserverOfAPathThatIsMadeAndMayNotBeReadIsToldSo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		o := observe(t, connect(t, server))
		require.Equal(t, []string{nobody}, o.sees())
		theirs := connect(t, server, zklock.WithAuth("digest", []byte("user:password")))
		_, err := newElection(t, theirs, election.WithACL(zk.AuthACL(zk.PermAll))).Campaign(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, within(t, 61*time.Second, o.ended), zk.ErrNoAuth)
	})
}

func TestAnObserverSeesWhatHasChangedUnheard(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, term *election.Term, next *zklock.Session)
		sees   string
	}{
		"another leads": {func(t *testing.T, term *election.Term, next *zklock.Session) {
			require.NoError(t, term.Resign(t.Context()))
			campaign(t, next, "two")
		}, "two"},
		"nobody leads": {func(t *testing.T, term *election.Term, _ *zklock.Session) {
			require.NoError(t, term.Resign(t.Context()))
		}, nobody},
		"it says something else": {func(t *testing.T, term *election.Term, next *zklock.Session) {
			require.NoError(t, term.Proclaim(t.Context(), []byte("two")))
			allow(t, next, zk.PermAll)
		}, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				s := connect(t, server)
				term := campaign(t, s, "one")
				o := observe(t, connect(t, server))
				time.Sleep(time.Minute / 2)
				same := observe(t, connect(t, server))
				require.Equal(t, []string{"one"}, o.sees())
				require.Equal(t, []string{"one"}, same.sees())
				allow(t, s, zk.PermAll&^zk.PermRead)
				c.change(t, term, s)
				require.Empty(t, o.sees(), "the server tells, the test shows nothing")
				time.Sleep(61 * time.Second)
				require.Equal(t, []string{c.sees}, o.sees())
				require.Equal(t, []string{c.sees}, same.sees())
			})
		})
	}
}

// allow sets what everybody may do with the leader's node.
func allow(t *testing.T, s *zklock.Session, perms int32) {
	t.Helper()
	names, _, err := s.Conn().Children(path)
	require.NoError(t, err)
	_, err = s.Conn().SetACL(path+"/"+names[0], zk.WorldACL(perms), -1)
	require.NoError(t, err)
}

func TestAnObserverLeavesAServerThatKeepsTheNodeOfALeaderThatHasGone(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		e := zktest.NewEnsemble(t, 3, zktest.WithContainerInterval(0))
		theirs := connect(t, e.Server(1))
		e.Server(1).Refuse(true)
		e.Server(2).Refuse(true)
		here, err := zklock.Connect(t.Context(), e.PipeAddrs(), timeout, zklock.WithDialer(e.Dial))
		require.NoError(t, err)
		t.Cleanup(func() { here.Close() })
		e.Server(1).Refuse(false)
		e.Server(2).Refuse(false)
		first, o := campaign(t, theirs, "first"), observe(t, here)
		time.Sleep(time.Second)
		require.Equal(t, []string{"first"}, o.sees())
		require.True(t, e.Server(0).KeepNode(o.latest().Node))
		require.NoError(t, first.Resign(t.Context()))
		campaign(t, theirs, "next")
		require.Empty(t, o.sees())
		time.Sleep(2 * time.Minute)
		require.Equal(t, "next", last(o.sees()))
	})
}
