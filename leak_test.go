package zklock_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
)

// abandoned is how many goroutines the work may take, at any time, that calls have left behind
// when their contexts ended.
const abandoned = 300

// heapNoise is what the heap may grow by without anything being kept.
const heapNoise = 512 << 10

// footprint is what is kept by this process, and by the server for it.
type footprint struct {
	heap    uint64
	watches int
}

// measure returns the footprint when all that was abandoned is done.
func (at *site) measure() footprint {
	at.t.Helper()
	f := footprint{watches: at.watches()}
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	f.heap = stats.HeapAlloc
	return f
}

// requireSteady checks that many rounds keep no more than a few did. After round and quiet,
// whatever it began has to end.
func (at *site) requireSteady(few, many int, round func(), quiet func()) {
	at.t.Helper()
	repeat := func(n int) footprint {
		goroutines := runtime.NumGoroutine()
		for range n {
			round()
		}
		quiet()
		eventually(at.t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines+few/4 })
		return at.measure()
	}
	before := repeat(few)
	after := repeat(many)
	steady := fmt.Sprintf("after %d rounds %+v, after %d more %+v", few, before, many, after)
	at.t.Log(steady)
	eventually(at.t, "the heap to shrink: "+steady, func() bool { // a connection that is ending has 1.5 MiB
		return after.heap < before.heap+heapNoise || at.measure().heap < before.heap+heapNoise
	})
	require.LessOrEqual(at.t, after.watches, before.watches+1)
}

func TestPollingAHeldLockLeavesNothingBehind(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	holder, l := at.locker(at.direct()), at.locker(at.direct())
	holder.Lock()
	most, before := 0, runtime.NumGoroutine()
	at.requireSteady(250, 2250, func() {
		ok, err := l.TryLockFor(context.Background(), 500*time.Microsecond)
		require.NoError(t, err)
		require.False(t, ok)
		most = max(most, runtime.NumGoroutine())
	}, func() { at.awaitQueue(1) })
	require.Less(t, most, before+abandoned)
	require.Greater(t, at.childWrites(), 2*250, "the polls did queue")
}

func TestPollingAServerThatHangsDoesNotPileUpWork(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l := at.stranger()
	writes := at.childWrites()
	at.proxy.Freeze(faultproxy.Both)
	before := runtime.NumGoroutine()
	for range 3000 {
		ok, err := l.TryLockFor(context.Background(), 100*time.Microsecond)
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.Less(t, runtime.NumGoroutine(), before+abandoned)
	at.proxy.Thaw(faultproxy.Both)
	at.awaitQueue(0)
	require.Less(t, at.childWrites(), writes+abandoned, "what was abandoned is not done in the end")
	require.NoError(t, l.LockContext(within(t, patience)), "the connection may have been given up meanwhile")
}

func TestCancelledWaitersLeaveNothingBehind(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	holder, l := at.locker(at.direct()), at.locker(at.direct())
	holder.Lock()
	const waiters = 10
	at.requireSteady(20, 200, func() {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, waiters)
		for range waiters {
			go func() { ended <- l.LockContext(ctx) }()
		}
		at.awaitQueue(1 + waiters)
		cancel()
		for range waiters {
			require.ErrorIs(t, receive(t, ended, "a cancelled waiter"), context.Canceled)
		}
	}, func() { at.awaitQueue(1) })
}

func TestSessionsThatComeAndGoLeaveNothingBehind(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	holder := at.locker(at.direct())
	at.requireSteady(20, 200, func() {
		s, err := zklock.Connect(context.Background(), []string{at.addr}, longSession)
		require.NoError(t, err)
		l := at.locker(s)
		holder.Lock()
		ended := lockElsewhere(l)
		at.awaitQueue(2)
		require.NoError(t, s.Close())
		require.ErrorIs(t, receive(t, ended, "the waiter of the closed session"), zklock.ErrClosed)
		holder.Unlock()
	}, func() { at.awaitQueue(0) })
}

func TestSessionsThatAreLostLeaveNothingBehind(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	s := at.session()
	l := at.locker(s)
	at.requireSteady(8, 20, func() {
		require.NoError(t, l.LockContext(within(t, patience)))
		at.kill(s)
		receive(t, l.Lost(), "the loss")
		l.Unlock()
	}, func() {
		require.NoError(t, l.LockContext(within(t, patience)))
		l.Unlock()
		at.awaitQueue(0)
	})
}

func TestLocksThatComeAndGoLeaveNothingBehind(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	l, visits := at.locker(at.direct()), 0
	at.requireSteady(200, 2000, func() {
		l.Lock()
		defer l.Unlock()
		visits++
	}, func() { at.awaitQueue(0) })
	require.Equal(t, 2200, visits)
}

func TestASessionLeavesNothingBehind(t *testing.T) {
	at := newSite(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := zklock.Connect(t.Context(), []string{at.addr}, longSession)
	require.NoError(t, err)
	l := at.locker(s)
	l.Lock()
	require.NotNil(t, l.Held().Context())
	waiting := lockElsewhere(l)
	at.awaitQueue(2)
	require.NoError(t, s.Close())
	require.Error(t, receive(t, waiting, "the waiter"))
}
