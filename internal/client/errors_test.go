package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
)

func TestTheEndOfACtxWithAnAnswerForItsCauseIsNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(zk.ErrNoNode)
	timed, stop := context.WithDeadlineCause(t.Context(), time.Time{}, zk.ErrNoNode)
	defer stop()
	require.ErrorIs(t, Ended(ctx), zk.ErrNoNode)
	require.False(t, Answers(Ended(ctx), zk.ErrNoNode))
	require.False(t, Answers(Ended(timed), zk.ErrNoNode))
	require.True(t, Answers(fmt.Errorf("wrapped: %w", zk.ErrNoNode), zk.ErrNoNode))
	require.False(t, Answers(zk.ErrNoAuth, zk.ErrNoNode))
}

func TestTheEndOfACtxSaysWhyItHasCome(t *testing.T) {
	why := errors.New("why")
	caused, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	plain, stop := context.WithCancel(t.Context())
	stop()
	late, stop := context.WithDeadline(t.Context(), time.Time{})
	defer stop()
	closing, end := context.WithCancelCause(t.Context())
	end(errClosing)
	told, tell := context.WithCancelCause(t.Context())
	tell(ErrClosed)

	require.EqualError(t, Ended(caused), "context canceled: why")
	require.ErrorIs(t, Ended(caused), context.Canceled)
	require.ErrorIs(t, Ended(caused), why)
	require.True(t, Ended(plain) == context.Canceled)
	require.True(t, Ended(late) == context.DeadlineExceeded)
	require.True(t, Ended(closing) == ErrClosed)
	require.ErrorIs(t, Ended(told), context.Canceled, "another session's end is the caller's own")
}

func TestAnErrorWithoutAServerSaysWhatTheServersDo(t *testing.T) {
	why := errors.New("refused by the host")
	c := unconnected(t, slog.New(slog.DiscardHandler))
	ended := fmt.Errorf("try: %w", context.DeadlineExceeded)
	require.True(t, c.Explain(ended) == ended, "nothing is known")
	require.True(t, c.Unserved(ended) == ended)

	c.Failed(why)
	require.EqualError(t, c.Explain(ended), "try: context deadline exceeded (no connection, last cause: refused by the host)")
	require.ErrorIs(t, c.Explain(ended), context.DeadlineExceeded)
	require.ErrorIs(t, c.Explain(ended), why)
	require.ErrorIs(t, c.Explain(context.Canceled), why)
	require.True(t, c.Explain(zk.ErrNoNode) == zk.ErrNoNode, "an answer needs no more")
	require.EqualError(t, c.Unserved(ErrSessionOver), ErrSessionOver.Error()+" (no connection, last cause: refused by the host)")
	require.ErrorIs(t, c.Unserved(ErrSessionOver), ErrSessionOver)
	require.NotErrorIs(t, c.Unserved(ErrSessionOver), why)

	c.Failed(fmt.Errorf("dial: %w", context.DeadlineExceeded))
	require.NotErrorIs(t, c.Explain(context.Canceled), context.DeadlineExceeded, "the dial's end is not the call's")
	require.ErrorIs(t, c.Explain(context.Canceled), context.Canceled)

	c.Failed(why)
	c.link = new(wire.Link)
	require.ErrorIs(t, c.Explain(ended), why, "a connection that does not log in serves nobody")
	c.failure = nil
	require.True(t, c.Explain(ended) == ended)

	for server, stale := range map[string]bool{"nowhere:2181": true, "somewhere:2181": false} {
		c.stale = &wire.Stale{Server: server}
		c.connectedTo(t, why)
		require.Equal(t, stale, IsStale(c.Explain(ended)), "as long as it is the one that serves")
	}
}

func TestARefusalByABareNumberSaysWhatItMeans(t *testing.T) {
	for code, says := range map[string]string{"-124": "demand credentials", "-120": "ephemeral nodes"} {
		refusal := errors.New(unnamed + code)
		err := new(Client).Explain(fmt.Errorf("create: %w", refusal))
		require.ErrorIs(t, err, refusal)
		require.ErrorContains(t, err, "create: unknown error: "+code+" (")
		require.ErrorContains(t, err, says)
	}
	for _, err := range []error{nil, zk.ErrNoAuth, errors.New(unnamed + "-12"), errors.New("-1")} {
		require.Equal(t, err, new(Client).Explain(err))
	}
}

// overBy is a context that has ended with that cause.
func overBy(t *testing.T, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	return ctx
}

func TestARefusalIsKnownByItsCode(t *testing.T) {
	for _, err := range []error{
		zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments, zk.ErrAPIError,
		zk.ErrInvalidPath, zk.ErrShortBuffer, errors.New(unnamed + "-6"), errors.New(unnamed + "-125"),
		fmt.Errorf("wrapped: %w", fmt.Errorf("twice: %w", errors.New(unnamed+"-6"))), fmt.Errorf("wrapped: %w", zk.ErrNoAuth),
	} {
		require.True(t, Refused(err), "%v", err)
	}
	for _, err := range []error{
		nil, zk.ErrNoNode, zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrNodeExists, errors.New("reset by peer"),
		errors.New(unnamed + "-1"), errors.New(unnamed + "-2"), errors.New(unnamed + "-3"), errors.New(unnamed + "-4"),
		errors.New(unnamed + "-5"), errors.New(unnamed + "-7"), errors.New(unnamed + "-127"),
		Ended(overBy(t, zk.ErrNoAuth)),
	} {
		require.False(t, Refused(err), "%v", err)
	}
	overQuota := fmt.Errorf("wrapped: %w", errors.New(unnamed+"-125"))
	require.ErrorIs(t, OverQuota(overQuota, "/lock", "a node"), overQuota)
	require.EqualError(t, OverQuota(overQuota, "/lock", "a node"),
		"the quota of /lock, or of a node above it, does not allow a node there: wrapped: unknown error: -125")
	for _, err := range []error{nil, zk.ErrNoAuth, errors.New("-125"), errors.New(unnamed + "-12")} {
		require.Equal(t, err, OverQuota(err, "/lock", "a node"))
	}
}
