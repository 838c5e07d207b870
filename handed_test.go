package zklock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// Who waits for an owner that has lost the lock goes on when that gives its share in the gate
// back, and is not to see its hold alive.
func TestAShareInTheGateIsGivenBackWhenTheHoldHasEnded(t *testing.T) {
	server := zktest.NewServer(t)
	s, err := Connect(t.Context(), []string{server.Addr()}, 20*time.Second)
	require.NoError(t, err)
	defer s.Close()
	l, err := New(s, "/lock")
	require.NoError(t, err)
	rw, err := NewRW(s, "/rw")
	require.NoError(t, err)
	ended := 0
	watch := func(h *Hold, shares *shares) {
		h.hold.WhenEnded(func(error) {
			ended++
			assert.False(t, shares.TryAcquire(allShares))
		})
	}
	ways := []func(){
		func() { l.Lock(); watch(l.Held(), l.shares); l.Unlock() },
		func() { l.Lock(); watch(l.Held(), l.shares); assert.NoError(t, l.UnlockContext(t.Context())) },
		func() {
			assert.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { watch(HoldFrom(ctx), l.shares); return nil }))
		},
		func() {
			defer func() { assert.Equal(t, "fn", recover()) }()
			_ = l.Do(t.Context(), func(ctx context.Context) error { watch(HoldFrom(ctx), l.shares); panic("fn") })
		},
		func() { rw.Lock(); watch(rw.Held(), rw.write.shares); rw.Unlock() },
		func() { rw.RLock(); watch(rw.RHeld(), rw.write.shares); rw.RUnlock() },
		func() {
			rw.RLock()
			watch(rw.RHeld(), rw.write.shares)
			assert.NoError(t, rw.RUnlockContext(t.Context()))
		},
	}
	for _, way := range ways {
		way()
		require.True(t, l.shares.TryAcquire(allShares))
		l.shares.Release(allShares)
		require.True(t, rw.write.shares.TryAcquire(allShares))
		rw.write.shares.Release(allShares)
	}
	require.Equal(t, len(ways), ended)
}

// Between the two looks of a second Unlock at the lock, the first one gives it back and
// somebody else takes it.
func TestASecondUnlockWithoutOwnerGivesNobodyElsesHoldBack(t *testing.T) {
	server := zktest.NewServer(t)
	s, err := Connect(t.Context(), []string{server.Addr()}, 20*time.Second)
	require.NoError(t, err)
	defer s.Close()
	l, err := New(s, "/lock", WithoutOwner())
	require.NoError(t, err)
	l.Lock()
	seen := l.hold.Load()
	l.Unlock()
	l.Lock()
	h, _ := l.yieldIf(seen)
	require.Nil(t, h)
	require.True(t, l.Held().Valid())
	l.Unlock()
	h, _ = l.yieldIf(seen)
	require.Nil(t, h)
}
