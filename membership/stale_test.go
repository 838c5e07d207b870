package membership_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// differing is an ensemble whose first server is about to differ from its leader for good, with a
// session there that knows the others too.
func differing(t *testing.T, test func(t *testing.T, e *zktest.Ensemble, here, elsewhere *zklock.Session)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		e := zktest.NewEnsemble(t, 3, zktest.WithContainerInterval(0))
		elsewhere := connect(t, e.Server(1))
		e.Server(1).Refuse(true)
		e.Server(2).Refuse(true)
		here, err := zklock.Connect(t.Context(), e.PipeAddrs(), timeout, zklock.WithDialer(e.Dial))
		require.NoError(t, err)
		t.Cleanup(func() { here.Close() })
		e.Server(1).Refuse(false)
		e.Server(2).Refuse(false)
		test(t, e, here, elsewhere)
	})
}

// soon is by when a server's data is compared with its leader's, with all that follows.
const soon = 2*time.Minute + 10*time.Second

func TestAMemberThatOnlyOneServerShowsIsListedNoMore(t *testing.T) {
	differing(t, func(t *testing.T, e *zktest.Ensemble, here, elsewhere *zklock.Session) {
		stays, goes := join(t, elsewhere, "stays"), join(t, elsewhere, "goes")
		peers := watch(t, here)
		time.Sleep(time.Second)
		require.True(t, e.Server(0).KeepNode(path+"/"+goes.ID()))
		require.NoError(t, goes.Leave(t.Context()))
		time.Sleep(time.Second)
		require.Equal(t, []string{"stays", "goes"}, textsOf(peers.latest()))
		time.Sleep(soon)
		require.Equal(t, []string{"stays"}, textsOf(peers.latest()))
		require.NoError(t, stays.Leave(t.Context()))
	})
}

func TestAMemberWhoseNodeOnlyItsServerShowsRegistersAgain(t *testing.T) {
	differing(t, func(t *testing.T, e *zktest.Ensemble, here, elsewhere *zklock.Session) {
		m := join(t, here, "mine")
		require.True(t, e.Server(0).KeepNode(path+"/"+m.ID()))
		require.NoError(t, elsewhere.Conn().Delete(path+"/"+m.ID(), -1))
		time.Sleep(soon)
		require.Equal(t, []string{m.ID()}, e.Server(1).Children(path))
		require.True(t, m.State().Registered)
		require.NoError(t, m.Leave(t.Context()))
	})
}

func TestAPathThatOneServerLacksIsFoundAtAnother(t *testing.T) {
	differing(t, func(t *testing.T, e *zktest.Ensemble, here, elsewhere *zklock.Session) {
		other := join(t, elsewhere, "other")
		require.True(t, e.Server(0).LackNode(path))
		peers := watch(t, here)
		time.Sleep(time.Second)
		require.Empty(t, textsOf(peers.latest()))
		time.Sleep(soon)
		require.Equal(t, []string{"other"}, textsOf(peers.latest()))

		require.NoError(t, other.Leave(t.Context()))
	})
	differing(t, func(t *testing.T, e *zktest.Ensemble, here, elsewhere *zklock.Session) {
		join(t, elsewhere, "other")
		require.True(t, e.Server(0).LackNode(path))
		m, err := membership.Join(t.Context(), here, path, []byte("mine"))
		require.NoError(t, err)
		require.Len(t, e.Server(1).Children(path), 2)
		require.NoError(t, m.Leave(t.Context()))
		require.Len(t, e.Server(1).Children(path), 1)
	})
}
