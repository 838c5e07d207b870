package lock_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// revocations are the ways to ask for a lock back.
func (at *site) revocations() map[string]func(node string) error {
	s := at.session()
	return map[string]func(string) error{
		"Revoke": func(node string) error { return zklock.Revoke(context.Background(), s, node) },
		"a mark as Curator's Revoker writes it": func(node string) error {
			_, err := at.conn.Set(node, []byte("__REVOKE__"), -1)
			return err
		},
	}
}

func TestAHolderIsAskedForItsLock(t *testing.T) {
	at := newSite(t)
	rw := at.rw(at.session())
	for name, ask := range at.revocations() {
		for kind, acquire := range map[string]func(context.Context) (*zklock.Hold, error){
			"exclusive": at.stranger().Acquire,
			"write":     rw.Acquire,
			"read":      rw.RAcquire,
		} {
			h, err := acquire(t.Context())
			require.NoError(t, err)
			require.False(t, isClosed(h.Revoked()), "%s, %s", name, kind)
			require.NoError(t, ask(h.Node()))
			receive(t, h.Revoked(), "the wish to be heard: "+name+", "+kind)
			require.NoError(t, h.Err(), "asking is not taking")
			require.True(t, h.Valid())
			at.awaitQueue(1)
			require.NoError(t, h.Release(t.Context()))
			at.awaitQueue(0)
		}
	}
}

// Who never looks at Revoked before is told all the same, and so is one who was asked while it
// still waited.
func TestAMarkFromBeforeTheHoldIsHeeded(t *testing.T) {
	at := newSite(t)
	for name, ask := range at.revocations() {
		for kind, acquire := range map[string]func(context.Context) (*zklock.Hold, error){
			"exclusive": at.stranger().Acquire,
			"write":     at.rw(at.session()).Acquire,
			"read":      at.rw(at.session()).RAcquire,
		} {
			holder := at.stranger()
			holder.Lock()
			waiting := at.begin(acquire)
			node := at.awaitQueue(2)[1]
			require.NoError(t, ask(node))
			requireSilent(t, waiting, "the lock is held")
			holder.Unlock()
			h := receive(t, waiting, "the lock")
			receive(t, h.Revoked(), "the wish from before: "+name+", "+kind)
			require.Equal(t, node, h.Node())
			require.NoError(t, h.Release(t.Context()))
			at.awaitQueue(0)
		}
	}
}

// Within one session the lock is handed on without a look at the nodes.
func TestAMarkFromBeforeIsHeededByASuccessorOfTheSameSession(t *testing.T) {
	at := newSite(t)
	s := at.session()
	holder := at.locker(s)
	holder.Lock()
	first, second := at.acquire(s), (<-chan *zklock.Hold)(nil)
	at.awaitQueue(2)
	second = at.acquire(s)
	queue := at.awaitQueue(3)
	require.NoError(t, zklock.Revoke(t.Context(), s, queue[2]))
	holder.Unlock()
	h := receive(t, first, "the first successor")
	require.False(t, isClosed(h.Revoked()))
	require.NoError(t, h.Release(t.Context()))
	h = receive(t, second, "the second successor")
	require.Equal(t, queue[2], h.Node())
	receive(t, h.Revoked(), "the wish from before")
	require.NoError(t, h.Release(t.Context()))
}

func TestAReaderLeftByADowngradeIsAskedForItsLock(t *testing.T) {
	at := newSite(t)
	s := at.session()
	var node string
	rw := at.rw(s, zklock.WithTrace(&zklock.Trace{Acquired: func(i zklock.TraceInfo) { node = i.Node }}))
	rw.Lock()
	rw.RLock()
	rw.Unlock()
	require.Equal(t, "R", kindsOf(at.awaitQueue(1)))
	require.NoError(t, zklock.Revoke(t.Context(), at.session(), node))
	require.False(t, isClosed(rw.RLost()), "asking is not taking")
	rw.RUnlock()
	at.awaitQueue(0)
}

func TestEachPermitOfAHoldCanBeAskedFor(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 3)
	for i := range 3 {
		h := take(t, sem, 3)
		require.NoError(t, zklock.Revoke(t.Context(), at.session(), at.path+"/leases/"+at.leases()[i]))
		receive(t, h.Revoked(), "the wish to be heard")
		require.NoError(t, h.Release(t.Context()))
		at.awaitLeases(0)
	}
}

func TestOtherDataOnANodeIsNoRevocation(t *testing.T) {
	at := newSite(t)
	h, err := at.stranger().Acquire(t.Context())
	require.NoError(t, err)
	revoked := h.Revoked()
	for _, data := range []string{"", "x", "__REVOKE__ ", "__REVOKE"} {
		_, err := at.conn.Set(h.Node(), []byte(data), -1)
		require.NoError(t, err)
	}
	requireSilent(t, revoked, "nobody has asked for the lock")
	_, err = at.conn.Set(h.Node(), []byte("__REVOKE__"), -1)
	require.NoError(t, err)
	receive(t, revoked, "the wish, after other changes")
	_, err = at.conn.Set(h.Node(), nil, -1)
	require.NoError(t, err)
	require.True(t, isClosed(h.Revoked()), "a wish once heard stays")
	require.NoError(t, h.Release(t.Context()))
	require.True(t, isClosed(h.Revoked()))
}

// The wish is written while the holder is cut off, and heard when it is back.
func TestAWishFromAnOutageIsHeard(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	h, err := at.stranger().Acquire(t.Context())
	require.NoError(t, err)
	revoked := h.Revoked()
	at.proxy.Refuse(true)
	at.proxy.Cut()
	_, err = at.conn.Set(h.Node(), []byte("__REVOKE__"), -1)
	require.NoError(t, err)
	at.proxy.Refuse(false)
	receive(t, revoked, "the wish")
	require.NoError(t, h.Err())
}

func TestRevokeSaysWhatItCannotAskFor(t *testing.T) {
	at := newSite(t)
	s := at.session()
	h, err := at.locker(s).Acquire(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, zklock.Revoke(done(), s, h.Node()), context.Canceled)
	require.ErrorContains(t, zklock.Revoke(t.Context(), nil, h.Node()), "session is nil")
	require.ErrorContains(t, zklock.Revoke(t.Context(), s, "relative"), "relative")
	require.ErrorContains(t, zklock.Revoke(t.Context(), s, at.path), "not the name of a lock node")
	require.NoError(t, h.Release(t.Context()))
	err = zklock.Revoke(t.Context(), s, h.Node())
	require.ErrorIs(t, err, zk.ErrNoNode)
	require.ErrorContains(t, err, h.Node())
	require.NoError(t, s.Close())
	require.ErrorIs(t, zklock.Revoke(t.Context(), s, h.Node()), zklock.ErrClosed)
}
