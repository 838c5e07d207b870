package lock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestDoRunsUnderTheLock(t *testing.T) {
	at := newSite(t)
	s := at.session()
	l := at.locker(s)
	type key struct{}
	failure := errors.New("the job failed")
	var inside *zklock.Hold
	err := l.Do(context.WithValue(t.Context(), key{}, "value"), func(ctx context.Context) error {
		inside = zklock.HoldFrom(ctx)
		at.requireHeld(inside, s)
		require.NoError(t, ctx.Err())
		require.Equal(t, "value", ctx.Value(key{}))
		require.False(t, l.TryLock(), "it belongs to the call, not to the goroutine")
		return failure
	})
	require.Equal(t, failure, err, "fn's own error, as it is")
	require.ErrorIs(t, inside.Err(), zklock.ErrReleased)
	at.awaitQueue(0)
	require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
}

func TestDoReleasesWhenItsFunctionPanics(t *testing.T) {
	at := newSite(t)
	l := at.stranger()
	require.PanicsWithValue(t, "the job broke", func() {
		_ = l.Do(t.Context(), func(context.Context) error { panic("the job broke") })
	})
	at.awaitQueue(0)
	require.True(t, l.TryLock())
}

func TestAHoldCrossesGoroutinesAndIsReleasedOnce(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	s := at.session()
	l := at.locker(s)
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	at.requireHeld(h, s)
	require.Zero(t, l.HoldCount(), "a handle belongs to nobody's goroutine")
	require.False(t, l.TryLock())
	ctx := h.Context()
	require.Same(t, h, zklock.HoldFrom(ctx))

	elsewhere(func() { err = h.Release(context.Background()) })
	require.NoError(t, err)
	require.Empty(t, at.queue(), "Release returns when the node is gone")
	require.ErrorIs(t, h.Err(), zklock.ErrReleased)
	require.False(t, h.Valid())
	require.False(t, isClosed(h.Lost()))
	require.ErrorIs(t, context.Cause(ctx), zklock.ErrReleased)
	require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased)

	next, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, h.Release(done()))
	at.requireHeld(next, s)
	require.NoError(t, next.Release(t.Context()))
	require.Equal(t, 4, at.childWrites(), "releasing again writes nothing")
}

func TestHoldFromFindsNothingElsewhere(t *testing.T) {
	require.Nil(t, zklock.HoldFrom(context.Background()))
}

func TestTokensRiseAlsoWhenTheParentIsMadeAnew(t *testing.T) {
	at := newSite(t)
	sessions := []*zklock.Session{at.session(), at.session()}
	token := int64(0)
	for i := range 20 {
		h, err := at.locker(sessions[i%2]).Acquire(within(t, patience))
		require.NoError(t, err)
		require.Greater(t, h.Token(), token)
		token = h.Token()
		require.NoError(t, h.Release(t.Context()))
		if i%5 == 4 {
			if err := at.conn.Delete(at.path, -1); err != nil {
				require.ErrorIs(t, err, zk.ErrNoNode, "the server was faster")
			}
		}
	}
}

func TestAFencedWriteIsRefusedAfterTheLoss(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	account := at.path + "/account"
	_, err := at.conn.Create(account, []byte("100"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	s := at.session()
	h, err := at.locker(s).Acquire(t.Context())
	require.NoError(t, err)
	pay := func(conn *zk.Conn, balance string) error {
		_, err := conn.Multi(h.Check(), &zk.SetDataRequest{Path: account, Data: []byte(balance), Version: -1})
		return err
	}
	require.NoError(t, pay(s.Conn(), "90"))

	at.kill(s)
	require.ErrorIs(t, pay(at.conn, "0"), zk.ErrNoNode)
	eventually(t, "the session's own connection to come back", func() bool {
		return errors.Is(pay(s.Conn(), "0"), zk.ErrNoNode)
	})
	data, _, err := at.conn.Get(account)
	require.NoError(t, err)
	require.Equal(t, "90", string(data))

	h, err = at.locker(s).Acquire(within(t, patience))
	require.NoError(t, err)
	require.NoError(t, h.Release(t.Context()))
	err = pay(s.Conn(), "0")
	require.True(t, errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion), "after a release too, though another owner has the node: %v", err)
}

// A panic, or the end of a goroutine, that stayed inside Do during an outage would be seen by
// nobody.
func TestWhatEndsTheFunctionOfDoDoesNotWaitForAConnection(t *testing.T) {
	for name, end := range map[string]func(){
		"a panic":                 func() { panic("the job broke") },
		"the goroutine's own end": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("worker"))
				working, outage, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					_ = l.Do(context.Background(), func(context.Context) error {
						close(working)
						<-outage
						end()
						return nil
					})
				}()
				<-working
				b.server.Refuse(true)
				b.server.Cut()
				synctest.Wait()
				began := time.Now()
				close(outage)
				receive(t, ended, "the end of the goroutine")
				require.Zero(t, time.Since(began))
				require.Equal(t, 1, b.queue())
				b.server.Refuse(false)
				eventually(t, "the lock to be free", func() bool { return b.queue() == 0 })
				require.True(t, l.TryLock(), "the process has it no more either")
				l.Unlock()
			})
		})
	}
}
