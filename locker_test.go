package zklock_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestAnOwnerLocksThreeDeepAndHoldsUntilItsLastUnlock(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l, other := at.locker(s), at.stranger()
	l.Lock()
	h := l.Held()
	require.NoError(t, l.LockContext(t.Context()))
	require.True(t, l.TryLock())
	require.Equal(t, 3, l.HoldCount())
	require.Len(t, at.queue(), 1, "one node, however often it is locked")

	for depth := 3; depth > 0; depth-- {
		require.Equal(t, depth, l.HoldCount())
		require.Same(t, h, l.Held())
		at.requireHeld(h, s)
		require.False(t, other.TryLock())
		if depth == 2 {
			require.NoError(t, l.UnlockContext(t.Context()))
		} else {
			l.Unlock()
		}
	}
	require.Zero(t, l.HoldCount())
	require.Nil(t, l.Held())
	require.ErrorIs(t, h.Err(), zklock.ErrReleased)
	at.awaitQueue(0)
	require.True(t, other.TryLock())
}

func TestAStrangerGoroutineNeitherUnlocksNorReenters(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	elsewhere(func() {
		err := panicOf(t, l.Unlock)
		require.ErrorIs(t, err, zklock.ErrNotHeld)
		require.ErrorContains(t, err, at.path)
		require.Regexp(t, `goroutine \d+ owns it, and the caller is goroutine \d+`, err.Error())
		require.ErrorIs(t, l.UnlockContext(context.Background()), zklock.ErrNotHeld)
		require.False(t, l.TryLock())
		ok, err := l.TryLockFor(context.Background(), time.Millisecond)
		require.NoError(t, err)
		require.False(t, ok)
		require.Zero(t, l.HoldCount())
		require.Nil(t, l.Held())
		require.True(t, isClosed(l.Lost()), "who holds nothing has lost it")
	})
	require.Equal(t, 1, l.HoldCount())
	require.False(t, isClosed(l.Lost()))
	at.requireHeld(l.Held(), s)
	l.Unlock()
	at.awaitQueue(0)
}

func TestWithoutOwnerTheLockIsNotReentrantAndAnyGoroutineUnlocksIt(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s, zklock.WithoutOwner())
	l.Lock()
	require.False(t, l.TryLock())
	require.ErrorIs(t, l.LockContext(within(t, time.Second)), zklock.ErrLocked)
	ok, err := l.TryLockFor(t.Context(), time.Millisecond)
	require.NoError(t, err)
	require.False(t, ok)
	elsewhere(func() {
		require.Equal(t, 1, l.HoldCount())
		at.requireHeld(l.Held(), s)
		require.False(t, isClosed(l.Lost()))
		l.Unlock()
	})
	require.Zero(t, l.HoldCount())
	require.ErrorIs(t, panicOf(t, l.Unlock), zklock.ErrNotHeld)
	require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrNotHeld)
	at.awaitQueue(0)

	elsewhere(l.Lock)
	require.NoError(t, l.UnlockContext(t.Context()))
}

func TestWithoutOwnerOfTwoUnlocksAtOnceOnePanics(t *testing.T) {
	at := newSite(t)
	l := at.stranger(zklock.WithoutOwner())
	for range 50 {
		l.Lock()
		unlock := func() (err error) {
			defer func() { err, _ = recover().(error) }()
			l.Unlock()
			return nil
		}
		one, two := begin(unlock), begin(unlock)
		errs := []error{receive(t, one, "an Unlock"), receive(t, two, "an Unlock")}
		if errs[0] != nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], zklock.ErrNotHeld)
	}
	at.awaitQueue(0)
}

func TestAnOwnerThatEndsWithoutUnlockKeepsTheLock(t *testing.T) {
	at := newSite(t)
	l := at.stranger()
	elsewhere(l.Lock)
	require.False(t, l.TryLock())
	require.Len(t, at.queue(), 1)
}

func TestALockServesACond(t *testing.T) {
	at := newSite(t)
	l := at.stranger()
	cond := sync.NewCond(l)
	ready := false
	got := begin(func() bool {
		cond.L.Lock()
		defer cond.L.Unlock()
		for !ready {
			cond.Wait()
		}
		return true
	})
	eventually(t, "the cond's waiter to be told", func() bool {
		l.Lock()
		ready = true
		cond.Signal()
		l.Unlock()
		return len(got) == 1
	})
}

func TestALockNodeSaysWhoMadeIt(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	l.Lock()
	data, _, err := at.conn.Get(l.Held().Node())
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`^host=%s pid=%d start=\d{4}-\d\d-\d\dT\S+$`, host, os.Getpid()), string(data))
	l.Unlock()

	l = at.locker(s, zklock.WithData([]byte("the night job")))
	l.Lock()
	defer l.Unlock()
	data, _, err = at.conn.Get(l.Held().Node())
	require.NoError(t, err)
	require.Equal(t, "the night job", string(data))
}

func TestTheTraceTellsOfALocksLife(t *testing.T) {
	at := newSite(t)
	type event struct {
		what string
		info zklock.TraceInfo
	}
	events := make(chan event, 8)
	note := func(what string) func(zklock.TraceInfo) {
		return func(info zklock.TraceInfo) { events <- event{what, info} }
	}
	s := at.session()
	l := at.locker(s, zklock.WithTrace(&zklock.Trace{
		Enqueued: note("enqueued"), Acquired: note("acquired"), Released: note("released"), Lost: note("lost"),
	}))
	expect := func(what string, h *zklock.Hold) zklock.TraceInfo {
		e := receive(t, events, what)
		require.Equal(t, what, e.what)
		require.Equal(t, at.path, e.info.Path)
		require.Equal(t, h.Node(), e.info.Node)
		require.Equal(t, h.Token(), e.info.Token)
		require.WithinDuration(t, time.Now(), e.info.Time, patience)
		return e.info
	}
	l.Lock()
	h := l.Held()
	l.Unlock()
	enqueued, acquired, released := expect("enqueued", h), expect("acquired", h), expect("released", h)
	require.Equal(t, enqueued.Since, acquired.Since)
	require.Equal(t, acquired.Time, released.Since)
	require.NoError(t, released.Err)

	l.Lock()
	h = l.Held()
	expect("enqueued", h)
	expect("acquired", h)
	at.kill(s)
	require.Error(t, expect("lost", h).Err)
	l.Unlock()
	require.Empty(t, events, "a lost lock is not released")
}
