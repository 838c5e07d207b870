package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestAWriterMayStopWritingAndGoOnReading(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.rw(s)
	l.Lock()
	writing := at.queue()[0]
	l.RLock()
	both := at.queue()
	require.Len(t, both, 2)
	require.ElementsMatch(t, []byte("RW"), []byte(kindsOf(both)))
	require.Equal(t, sequenceOf(both[0]), sequenceOf(both[1]), "the reader stands where the writer does")

	queuedWriter := at.begin(at.rw(at.session()).Acquire)
	at.awaitQueue(3)
	behind := at.rw(s)
	late := at.begin(behind.RAcquire) // behind the queued writer
	at.awaitQueue(4)
	lost, rlost := l.Lost(), l.RLost()
	l.Unlock()
	left := at.awaitQueue(3)
	require.Equal(t, "RWR", kindsOf(left), "the owner reads on, and keeps its place")
	require.NotContains(t, left, writing)
	requireSilent(t, queuedWriter, "the owner still reads")
	requireSilent(t, late, "a writer is ahead")
	require.False(t, isClosed(lost) || isClosed(rlost), "nothing was lost")
	require.ErrorIs(t, panicOf(t, l.Unlock), zklock.ErrNotHeld)
	require.ErrorIs(t, panicOf(t, l.Lock), zklock.ErrUpgrade)

	l.RUnlock()
	h := receive(t, queuedWriter, "the queued writer's turn")
	requireSilent(t, late, "a writer has the lock")
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, receive(t, late, "the reader behind").Release(t.Context()))
	at.awaitQueue(0)
}

func TestADowngradeThatFindsNoWriterIsTheWritersLossAndSaysWhy(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		rw := b.rw(b.session("mine"))
		rw.Lock()
		require.NoError(t, b.session("an operator").Conn().Delete(rw.Held().Node(), -1)) // it is not watched yet
		err := rw.RLockContext(t.Context())
		require.ErrorIs(t, err, zklock.ErrLost)
		require.ErrorContains(t, err, "the lock node was deleted")
		require.True(t, isClosed(rw.Lost()))
		require.ErrorIs(t, err, rw.Held().Err())
		rw.Unlock()
		require.NoError(t, rw.RLockContext(t.Context()))
		rw.RUnlock()
	})
}

// Lost replies while a reader's node is put beside its writer's.
func TestADowngradeSurvivesALostReply(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	l := at.rw(at.sessionVia(server.Addr(), longSession))
	for name, fault := range map[string]func(zktest.Op, ...zktest.Filter) *zktest.Fault{
		"the request": server.DropRequest, "the reply": server.DropReply,
	} {
		l.Lock()
		struck := fault(zktest.OpMulti, zktest.OnPath(at.path))
		require.NoError(t, l.RLockContext(within(t, patience)), name)
		require.True(t, isClosed(struck.Struck()), name)
		require.ElementsMatch(t, []byte("RW"), []byte(kindsOf(at.queue())), "%s: one node each", name)
		require.NoError(t, l.UnlockContext(t.Context()), name)
		require.Equal(t, "R", kindsOf(at.queue()), name)
		require.NoError(t, l.RUnlockContext(t.Context()), name)
		at.awaitQueue(0)
	}
}

// Nobody knows which of the readers it is that unlocks. Who reads on is to have a hold.
func TestWithoutOwnerAReaderThatHasLostTheLockGivesNobodyElsesHoldBack(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	s := at.session()
	l := at.rw(s, zklock.WithoutOwner())
	l.RLock()
	lost := l.RLost()
	require.True(t, server.ExpireSession(s.ID()))
	receive(t, lost, "the loss")
	elsewhere(l.RLock)
	require.Equal(t, "R", kindsOf(at.queue()))
	require.ErrorIs(t, l.RUnlockContext(t.Context()), zklock.ErrLost)
	require.Equal(t, "R", kindsOf(at.queue()), "the other one reads on")
	require.False(t, at.rw(at.session()).TryLock())
	require.True(t, isClosed(l.RLost()), "it may be the one that has lost it")
	elsewhere(l.RUnlock)
	at.awaitQueue(0)
}
