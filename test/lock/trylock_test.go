package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestOfTwentyTryLocksExactlyOneWins(t *testing.T) {
	const contenders = 20
	at := newSite(t)
	sessions := []*zklock.Session{at.session(), at.session(), at.session(), at.session()}
	for range 5 {
		start, finish := make(chan struct{}), make(chan struct{})
		won, ended := make(chan bool, contenders), make(chan struct{}, contenders)
		for i := range contenders {
			l := at.locker(sessions[i%len(sessions)])
			go func() {
				<-start
				got := l.TryLock()
				won <- got
				<-finish
				if got {
					l.Unlock()
				}
				ended <- struct{}{}
			}()
		}
		close(start)
		winners := 0
		for range contenders {
			if receive(t, won, "a TryLock") {
				winners++
			}
		}
		require.Equal(t, 1, winners)
		require.Len(t, at.awaitQueue(1), 1, "the losers leave no node")
		close(finish)
		for range contenders {
			receive(t, ended, "the winner's Unlock")
		}
		at.awaitQueue(0)
	}
}

func TestATryOfAHeldLockWritesNothing(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	holder, l := at.stranger(), at.stranger()
	holder.Lock()
	before := at.childWrites()
	require.False(t, l.TryLock())
	ok, err := l.TryLockFor(t.Context(), 0)
	require.NoError(t, err)
	require.False(t, ok)
	_, err = l.TryAcquire(t.Context())
	require.ErrorIs(t, err, zklock.ErrLocked)
	require.ErrorContains(t, err, at.path)
	require.Equal(t, before, at.childWrites())
}

func TestATryDoesNotPassThoseWhoWait(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	// A node that nobody gives up stands for a waiter whose turn has come.
	waiter, err := at.conn.Create(at.path+"/waiter-lock-0000000000", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	l := at.stranger()
	require.False(t, l.TryLock())
	require.NoError(t, at.conn.Delete(waiter, -1))
	require.True(t, l.TryLock())
}

func TestTryLockForGivesUpWhenItsTimeIsUp(t *testing.T) {
	at := newSite(t)
	holder, l := at.stranger(), at.stranger()
	holder.Lock()
	for _, d := range []time.Duration{-time.Second, 0, time.Millisecond, 200 * time.Millisecond} {
		began := time.Now()
		ok, err := l.TryLockFor(t.Context(), d)
		require.NoError(t, err)
		require.False(t, ok)
		require.GreaterOrEqual(t, time.Since(began), d)
		require.Less(t, time.Since(began), max(d, 0)+prompt)
		require.Zero(t, l.HoldCount())
		at.awaitQueue(1)
	}
}

func TestTryLockForGetsALockThatIsFreedInTime(t *testing.T) {
	at := newSite(t)
	s := at.session()
	holder, l := at.stranger(), at.locker(s)
	ok, err := l.TryLockFor(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, ok, "a free lock is had by one try")
	l.Unlock()

	holder.Lock()
	got := begin(func() *zklock.Hold {
		if ok, err := l.TryLockFor(context.Background(), patience); !ok || err != nil {
			t.Errorf("TryLockFor: %v, %v", ok, err)
		}
		return l.Held()
	})
	at.awaitQueue(2)
	holder.Unlock()
	at.requireHeld(receive(t, got, "the lock"), s)
}

func TestTryLockForEndsWithItsContext(t *testing.T) {
	at := newSite(t)
	holder, l := at.stranger(), at.stranger()
	holder.Lock()
	cause := errors.New("the user went away")
	ctx, cancel := context.WithCancelCause(context.Background())
	refused := begin(func() error {
		_, err := l.TryLockFor(ctx, patience)
		return err
	})
	at.awaitQueue(2)
	cancel(cause)
	asked := time.Now()
	err := receive(t, refused, "the cancelled call")
	require.Less(t, time.Since(asked), prompt)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	at.awaitQueue(1)

	_, err = l.TryLockFor(within(t, time.Millisecond), patience)
	require.ErrorIs(t, err, context.DeadlineExceeded, "ctx ended, not d")
}

func TestTryLockIsFalseAtOnceWithoutAConnection(t *testing.T) {
	at := newSite(t)
	s := at.sessionVia(at.proxy.Addr(), 10*longSession)
	l := at.locker(s)
	at.proxy.Refuse(true)
	at.proxy.Cut()
	eventually(t, "the session to notice", func() bool { return s.Conn().State() != zk.StateHasSession })
	began := time.Now()
	require.False(t, l.TryLock())
	require.Less(t, time.Since(began), prompt)
	_, err := l.TryLockFor(within(t, aWhile), 0)
	require.ErrorIs(t, err, context.DeadlineExceeded, "it waits for a connection as long as its context lives")
	at.proxy.Refuse(false)
	eventually(t, "the session to reconnect", l.TryLock)
	at.requireHeld(l.Held(), s)
}
