package nemesis

import (
	"context"
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// What a leader has proposed when it is killed happens if a follower has it, and
// does not if none has. The client hears nothing of it either way.
func TestF24ALeaderThatIsKilledDuringCreatesAndDeletesLeavesOneNodeOrNone(t *testing.T) {
	breaksServersAlone(t)
	c := Start(t)
	for name, variant := range map[string]struct {
		block   func(leader, follower int)
		happens bool
	}{
		"its followers have what it proposed": {func(l, f int) { c.Mesh.Block(f, l) }, true},
		"no follower has what it proposed":    {func(l, f int) { c.Mesh.Block(l, f) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnderWay(t, c)
			for _, f := range u.followers {
				variant.block(u.leader.ID(), f.ID())
			}
			u.call()
			pauseFor(tick / 2) // for the leader to propose it all, less than it waits for its followers
			require.Empty(t, u.ended, "the calls must be under way")
			u.killLeader()
			u.judge(variant.happens)
		})
	}
}

// underWay are calls in one session, each at a path of its own.
type underWay struct {
	t         *testing.T
	cluster   *Cluster
	leader    *apachezk.Server
	followers []*apachezk.Server
	session   *zklock.Session // at the leader
	root      string
	taken     []*zklock.Hold // that are given back
	created   []*zklock.Hold // by the calls
	ended     chan error
}

func newUnderWay(t *testing.T, c *Cluster) *underWay {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Heal()) })
	servers := []string{leader.Addr(), followers[0].Addr(), followers[1].Addr()}
	u := &underWay{
		t: t, cluster: c, leader: leader, followers: followers,
		session: connect(t, 2*longTimeout, servers, zklock.WithHostProvider(&inOrder{servers: servers})),
		root:    fmt.Sprintf("/under-way-%d", next.Add(1)),
		created: make([]*zklock.Hold, atOnce), ended: make(chan error, 2*atOnce),
	}
	require.Equal(t, leader.Addr(), u.session.Conn().Server())
	for i := range atOnce {
		require.NoError(t, acquireLock(t, u.session, u.path("create", i)).Release(t.Context()))
		u.taken = append(u.taken, acquireLock(t, u.session, u.path("delete", i)))
	}
	return u
}

func (u *underWay) path(what string, i int) string { return fmt.Sprintf("%s/%s-%d", u.root, what, i) }

// call begins all creates and deletes.
func (u *underWay) call() {
	for i, h := range u.taken {
		l, err := zklock.New(u.session, u.path("create", i))
		require.NoError(u.t, err)
		go func() {
			var err error
			u.created[i], err = l.Acquire(u.t.Context())
			u.ended <- err
		}()
		go func() { u.ended <- h.Release(u.t.Context()) }()
	}
}

// killLeader returns when all calls have ended under another leader. The network
// heals after the election, so that what was held on its way arrives nowhere.
func (u *underWay) killLeader() {
	u.leader.Kill()
	ctx, cancel := context.WithTimeout(u.t.Context(), recovery)
	defer cancel()
	_, err := u.cluster.Leader(ctx)
	require.NoError(u.t, err)
	u.cluster.Mesh.Heal()
	for range cap(u.ended) {
		require.NoError(u.t, receive(u.t, u.ended, "a call to end after the election"))
	}
	require.NoError(u.t, u.cluster.Heal())
}

// judge looks at what the paths have, and which leader's doing it is.
func (u *underWay) judge(happened bool) {
	t := u.t
	before := u.taken[0].Token() >> 32 // the epoch of the leader
	conn := u.session.Conn()
	check := func(dir string, want []string, changed int64) {
		require.Equal(t, happened, changed>>32 == before, "what was proposed happened, or did not: %s", dir)
		names, _, err := conn.Children(dir)
		require.NoError(t, err)
		require.Equal(t, want, names)
	}
	for i, h := range u.created {
		_, err := conn.Sync(u.root)
		require.NoError(t, err)
		check(u.path("create", i), []string{path.Base(h.Node())}, h.Token())
		_, stat, err := conn.Children(u.path("delete", i))
		require.NoError(t, err)
		check(u.path("delete", i), []string{}, stat.Pzxid)
		require.NoError(t, h.Release(t.Context()))
	}
	left, err := u.cluster.Remains(t.Context(), u.root, patience)
	require.NoError(t, err)
	require.True(t, left.none(), "%v", left)
}
