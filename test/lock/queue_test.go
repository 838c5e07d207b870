package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestTheLockIsGrantedInTheOrderOfTheQueue(t *testing.T) {
	const waiters = 20
	at := newSite(t)
	holder := at.stranger()
	holder.Lock()
	lockers := []*zklock.Locker{at.stranger(), at.stranger(), at.stranger(), at.stranger()}
	granted := make(chan int, waiters)
	for i := range waiters {
		l := lockers[i%len(lockers)]
		go func() {
			l.Lock()
			defer l.Unlock()
			granted <- i
		}()
		at.awaitQueue(1 + i + 1)
	}
	require.Empty(t, granted)
	holder.Unlock()
	for i := range waiters {
		require.Equal(t, i, receive(t, granted, "the next waiter's turn"))
	}
	at.awaitQueue(0)
}

func TestACancelledWaiterLeavesAndTheQueueBehindItMovesOn(t *testing.T) {
	at := newSite(t)
	holder, cancelled, behind := at.stranger(), at.stranger(), at.stranger()
	holder.Lock()
	ctx, cancel := context.WithCancel(context.Background())
	refused := begin(func() error { return cancelled.LockContext(ctx) })
	at.awaitQueue(2)
	got := lockElsewhere(behind)
	queue := at.awaitQueue(3)

	cancel()
	asked := time.Now()
	require.ErrorIs(t, receive(t, refused, "the cancelled call"), context.Canceled)
	require.Less(t, time.Since(asked), prompt)
	require.Equal(t, []string{queue[0], queue[2]}, at.awaitQueue(2))
	requireSilent(t, got, "the lock is still held")

	holder.Unlock()
	require.NoError(t, receive(t, got, "the waiter behind the cancelled one"))
}

func TestAWaiterWhosePredecessorCrashesKeepsWaitingForTheHolder(t *testing.T) {
	at := newSite(t)
	holder, doomed, behind := at.stranger(), at.session(), at.stranger()
	holder.Lock()
	ctx, cancel := context.WithCancel(context.Background())
	crashed := begin(func() error { return at.locker(doomed).LockContext(ctx) })
	at.awaitQueue(2)
	got := lockElsewhere(behind)
	queue := at.awaitQueue(3)

	require.NoError(t, at.conn.Delete(queue[1], -1)) // it goes to the tail
	eventually(t, "the waiter to queue again", func() bool { return len(at.queue()) == 3 && at.queue()[1] == queue[2] })
	requireSilent(t, got, "the lock is still held")
	cancel()
	require.Error(t, receive(t, crashed, "the cancelled call"))
	holder.Unlock()
	require.NoError(t, receive(t, got, "the waiter behind"))
}

func TestForeignAndMalformedChildrenAreIgnored(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	for _, name := range []string{
		"_c_x", "x-1-2", "_c_", "-", "lock", "lock-", "x-lock-1", "x-lock-00000000001", "x-lock-000000000a",
		"x-lock-99999999999999999999", "x-lock-9999999999", "0000000000", "-0000000000", "zzz-0000000000",
		"_c_8a0e0000-0000-4000-8000-000000000000-lease-0000000000", "x-lock-0000000000x", "ünïcode-lock-٠٠٠٠٠٠٠٠٠٠",
		"members",
	} {
		_, err := at.conn.Create(at.path+"/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err, name)
	}
	l := at.stranger()
	require.True(t, l.TryLock())
	l.Unlock()
	require.NoError(t, l.LockContext(within(t, patience)))
	require.False(t, at.stranger().TryLock())
	require.NoError(t, l.UnlockContext(within(t, patience)))
}

func TestContendersOfOtherClientsAreWaitedFor(t *testing.T) {
	for _, name := range []string{
		"_c_8a0e0000-0000-4000-8000-000000000000-lock-", // Curator's InterProcessMutex
		"_c_0123456789abcdef0123456789abcdef-lock-",     // zk.Lock
		"_c_8a0e0000-0000-4000-8000-000000000000-__WRIT__",
		"_c_8a0e0000-0000-4000-8000-000000000000-__READ__",
		"0123456789abcdef0123456789abcdef__lock__", // kazoo's Lock
		"0123456789abcdef0123456789abcdef__rlock__",
		"lock-", "", // made by hand
		"n_", "x-72057594037927936-", // zoo_lock.c, WriteLock
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			at.makeParent()
			foreign, err := at.conn.Create(at.path+"/"+name, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			l := at.stranger()
			require.False(t, l.TryLock())
			got := lockElsewhere(l)
			requireSilent(t, got, "another client holds the lock")
			require.NoError(t, at.conn.Delete(foreign, -1))
			require.NoError(t, receive(t, got, "the lock"))
		})
	}
}

func TestZkLockExcludesUsAndWeIt(t *testing.T) {
	at := newSite(t)
	theirs := zk.NewLock(dial(t, at.addr), at.path, zk.WorldACL(zk.PermAll))
	ours := at.stranger()

	require.NoError(t, theirs.Lock())
	require.False(t, ours.TryLock())
	weGot := begin(func() error {
		defer ours.Unlock()
		return ours.LockContext(context.Background())
	})
	at.awaitQueue(2)
	requireSilent(t, weGot, "zk.Lock holds the lock")
	require.NoError(t, theirs.Unlock())
	require.NoError(t, receive(t, weGot, "our turn"))
	at.awaitQueue(0)

	ours.Lock()
	theyGot := begin(theirs.Lock)
	at.awaitQueue(2)
	requireSilent(t, theyGot, "we hold the lock")
	ours.Unlock()
	require.NoError(t, receive(t, theyGot, "zk.Lock's turn"))
	require.NoError(t, theirs.Unlock())
}
