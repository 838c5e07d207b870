package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestAnErrorThatAnotherTryMayMendIsTransient(t *testing.T) {
	for _, err := range []error{
		nil, zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrNoNode, ErrStale, ErrSessionOver, errors.New("reset by peer"),
		errors.New(unnamed + "-4"),
	} {
		require.True(t, Transient(err), "%v", err)
	}
	for _, err := range []error{
		ErrClosed, context.Canceled, context.DeadlineExceeded, zk.ErrNoAuth, Final("no"), fmt.Errorf("wrapped: %w", Final("no")),
		fmt.Errorf("wrapped: %w", ErrClosed),
	} {
		require.False(t, Transient(err), "%v", err)
	}
	require.EqualError(t, Final("no"), "no")
	require.NoError(t, Permanent(nil))
}

func TestATryIsRepeatedWithPausesUntilItSucceeds(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		began, tries := time.Now(), 0
		var at []time.Duration
		require.NoError(t, c.Retry(t.Context(), func() error {
			at = append(at, time.Since(began))
			if tries++; tries < 4 {
				return zk.ErrConnectionClosed
			}
			return nil
		}))
		require.Equal(t, []time.Duration{0, 0, backoff.First, 3 * backoff.First}, at)
	})
}

func TestAnErrorThatAnotherTryDoesNotMendEndsThem(t *testing.T) {
	permanently := errors.New("even so")
	for name, tc := range map[string]struct{ of, err error }{
		"a refusal":                        {zk.ErrNoAuth, zk.ErrNoAuth},
		"the session's end":                {ErrClosed, ErrClosed},
		"as f says":                        {Permanent(permanently), permanently},
		"what f says of a transient error": {Permanent(zk.ErrConnectionClosed), zk.ErrConnectionClosed},
		"as f says of success":             {Permanent(nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, tries := unconnected(t, slog.New(slog.DiscardHandler)), 0
			require.Equal(t, tc.err, c.Retry(t.Context(), func() error { tries++; return tc.of }))
			require.Equal(t, 1, tries)
		})
	}
}

func TestATryThatHasFailedIsNotRepeatedForAnEndedCall(t *testing.T) {
	c, tries := unconnected(t, slog.New(slog.DiscardHandler)), 0
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	err := c.Retry(ctx, func() error { tries++; return zk.ErrConnectionClosed })
	require.EqualError(t, err, "context canceled: why (after zk: connection closed)")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, why)
	require.NotErrorIs(t, err, zk.ErrConnectionClosed, "nobody tries again for it")
	require.Equal(t, 1, tries)
	require.NoError(t, c.Retry(ctx, func() error { return nil }), "what has succeeded has")
}

func TestAPauseEndsWithItsCallAndWithTheSession(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		began := time.Now()
		require.NoError(t, c.Sleep(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, c.Sleep(ctx, time.Minute), context.DeadlineExceeded)
		require.Equal(t, time.Minute+time.Second, time.Since(began))
		time.AfterFunc(time.Second, func() { c.cancel(errClosing) })
		require.ErrorIs(t, c.Sleep(t.Context(), time.Minute), ErrClosed)
		require.Equal(t, time.Minute+2*time.Second, time.Since(began))
		err := c.Retry(t.Context(), func() error { return zk.ErrConnectionClosed })
		require.ErrorIs(t, err, ErrClosed)
		require.EqualError(t, err, "zklock: session is closed (after zk: connection closed)")
	})
}

func TestWhatPersistsWaitsForAConnection(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, c.Persist(ctx, func() error { require.Fail(t, "without a connection"); return nil }), context.DeadlineExceeded)

		server := zktest.NewServer(t)
		c = connect(t, server, server.Dial)
		first, tries := c.Current(), 0
		require.NoError(t, c.Persist(t.Context(), func() error {
			require.NotNil(t, c.Current())
			if tries++; tries == 1 {
				server.Cut()
				synctest.Wait()
				return zk.ErrConnectionClosed
			}
			return nil
		}))
		require.Equal(t, 2, tries)
		require.False(t, first == c.Current())
	})
}
