package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestAnACLHasToAllowWhatALockNeeds(t *testing.T) {
	at := newSite(t)
	s := at.session()
	with := func(perms int32) zklock.Option {
		at.path += "x"
		return zklock.WithACL(zk.WorldACL(perms))
	}
	const needed = zk.PermRead | zk.PermCreate | zk.PermDelete
	one := with(needed)
	l, next := at.locker(s, one), at.locker(at.session(), one)
	l.Lock()
	got := begin(func() error { return next.LockContext(within(t, patience)) })
	at.awaitQueue(2)
	require.NoError(t, l.UnlockContext(t.Context()))
	require.NoError(t, receive(t, got, "the next one's turn"))
	for _, missing := range []int32{zk.PermRead, zk.PermCreate} {
		_, err := at.locker(s, with(needed&^missing)).Acquire(within(t, patience))
		require.ErrorIs(t, err, zk.ErrNoAuth, "without %d", missing)
	}

	require.NoError(t, take(t, at.semaphore(s, 1, with(needed|zk.PermWrite)), 1).Release(t.Context()))
}

func (at *site) create(path string, flags, perms int32) {
	at.t.Helper()
	_, err := at.conn.Create(path, nil, flags, zk.WorldACL(perms))
	require.NoError(at.t, err)
}

// The last but one of those ahead is worth a watch from far away, and no error of that watch
// may end in lists without a pause.
func TestAnyPredecessorThatCannotBeReadEndsTheWaitFromFarAway(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const delay = 2 * time.Millisecond
		b := &bubble{t, zktest.NewServer(t, zktest.WithLatency(delay, delay)), "/lock"}
		operator := b.session("operator").Conn()
		_, err := operator.Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		for _, perms := range []int32{zk.PermAll &^ zk.PermRead, zk.PermAll} {
			_, err := operator.Create(b.path+"/_c_8a0e0000-0000-4000-8000-000000000000-lock-", nil,
				zk.FlagEphemeralSequential, zk.WorldACL(perms))
			require.NoError(t, err)
		}
		l := b.locker(b.session("waiter"))
		before := b.server.Requests()[zktest.OpGetChildren2]
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err = l.LockContext(ctx)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "cannot be watched")
		require.LessOrEqual(t, b.server.Requests()[zktest.OpGetChildren2], before+2)
		eventually(t, "the waiter's node to be deleted", func() bool { return b.queue() == 2 })
	})
}

func TestWhoMayNotListThePermitsLearnsWhichListThatIs(t *testing.T) {
	const noAuth = -102
	inBubble(t, func(t *testing.T, b *bubble) {
		sem := must(zklock.NewSemaphore(b.session("here"), b.path, 1))
		require.NoError(t, must(sem.Acquire(t.Context(), 1)).Release(t.Context()))
		b.server.RefuseRequest(zktest.OpGetChildren2, noAuth, zktest.OnPath(b.path+"/leases"))
		_, err := sem.Acquire(t.Context(), 1)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of "+b.path+"/leases does not let this session list its children")
	})
}

// A semaphore's users also write its size, and an error says which of the permissions is
// missing where the permits are.
func TestASemaphoresErrorSaysWhatTheACLOfItsPermitsDoesNotAllow(t *testing.T) {
	at := newSite(t)
	s := at.session()
	for missing, says := range map[int32]string{
		zk.PermRead:   "does not let this session read it",
		zk.PermWrite:  "does not let this session write the semaphore's size there",
		zk.PermCreate: "does not let this session create a lock node there",
	} {
		at.path += "x"
		at.create(at.path, 0, zk.PermAll)
		at.create(at.path+"/leases", 0, zk.PermAll&^missing)
		sem := at.semaphore(s, 1)
		for _, acquire := range []func(context.Context, int) (*zklock.Hold, error){sem.Acquire, sem.TryAcquire} {
			_, err := acquire(within(t, patience), 1)
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.ErrorContains(t, err, "the ACL of "+at.path+"/leases")
			require.ErrorContains(t, err, says)
			at.awaitLine(0)
		}
	}
}
