package zktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestAFollowerKeepsANodeForGoodOfWhichTheLeaderKnowsThatItIsGone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		owner, here := connect(t, e.Server(1).Dial, e.Server(1).PipeAddr()), connect(t, e.Server(0).Dial, e.Server(0).PipeAddr())
		for _, path := range []string{"/q", "/q/a", "/q/b"} {
			_, err := owner.Create(path, []byte(path), 0, open)
			require.NoError(t, err)
		}
		_, before, changed, err := here.ChildrenW("/q")
		require.NoError(t, err)
		_, _, gone, err := here.GetW("/q/a")
		require.NoError(t, err)
		require.False(t, e.Server(0).KeepNode("/q/missing"))
		require.False(t, e.Leader().KeepNode("/q/a"), "what it has is what is so")
		require.True(t, e.Server(0).KeepNode("/q/a"))
		require.NoError(t, owner.Delete("/q/a", -1))

		_, err = here.Sync("/q")
		require.NoError(t, err)
		data, _, err := here.Get("/q/a")
		require.NoError(t, err)
		require.Equal(t, "/q/a", string(data))
		names, stat, err := here.Children("/q")
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "b"}, names)
		require.Equal(t, before.Pzxid, stat.Pzxid)
		require.Equal(t, []string{"a", "b"}, e.Server(0).Children("/q"))
		require.Equal(t, []string{"b"}, e.Server(1).Children("/q"))
		require.Empty(t, changed)
		require.Empty(t, gone)

		_, err = here.Multi(&zk.CheckVersionRequest{Path: "/q/a", Version: -1})
		require.ErrorIs(t, err, zk.ErrNoNode)
		require.ErrorIs(t, here.Delete("/q/a", -1), zk.ErrNoNode)
		_, err = here.Set("/q/a", nil, -1)
		require.ErrorIs(t, err, zk.ErrNoNode)

		require.NoError(t, owner.Delete("/q/b", -1))
		require.Equal(t, zk.EventNodeChildrenChanged, (<-changed).Type, "all else is as ever")
		here.Close()
		e.Server(0).Stop()
		e.Server(0).Restart()
		time.Sleep(time.Second)
		require.Empty(t, e.Server(0).Children("/q"), "it has joined the leader anew")
	})
}

func TestAFollowerLacksANodeWhoseChildrenTheLeaderMakes(t *testing.T) {
	inBubble(t, func(t *testing.T, e *zktest.Ensemble) {
		other, here := connect(t, e.Server(1).Dial, e.Server(1).PipeAddr()), connect(t, e.Server(0).Dial, e.Server(0).PipeAddr())
		for _, path := range []string{"/q", "/q/a"} {
			_, err := other.Create(path, nil, 0, open)
			require.NoError(t, err)
		}
		require.False(t, e.Leader().LackNode("/q"))
		require.True(t, e.Server(0).LackNode("/q"))
		for _, path := range []string{"/q", "/q/a"} {
			there, _, err := here.Exists(path)
			require.NoError(t, err)
			require.False(t, there)
			_, err = here.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
			require.NoError(t, err)
		}
		names, stat, err := here.Children("/")
		require.NoError(t, err)
		require.Equal(t, []string{"zookeeper"}, names)
		require.EqualValues(t, 1, stat.NumChildren)
		_, _, made, err := here.ExistsW("/q/b")
		require.NoError(t, err)

		_, err = here.Create("/q", nil, 0, open)
		require.ErrorIs(t, err, zk.ErrNodeExists)
		_, err = here.Create("/q/b", nil, 0, open)
		require.ErrorIs(t, err, zk.ErrNoNode, "though it has been made")
		_, err = here.Set("/q/a", []byte("new"), -1)
		require.ErrorIs(t, err, zk.ErrNoNode)
		require.Equal(t, []string{"a", "b"}, e.Server(1).Children("/q"))
		require.Empty(t, e.Server(0).Children("/q"))
		require.Empty(t, made)
		require.ErrorIs(t, here.Delete("/q/b", -1), zk.ErrNoNode)
		require.Equal(t, []string{"a"}, e.Server(1).Children("/q"))
	})
}
