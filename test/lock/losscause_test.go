package lock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// losses are ways to lose a hold, and what its errors say of them.
var losses = map[string]struct {
	lose func(b *bubble, s *zklock.Session, node string)
	says string
	is   error
}{
	"the session ends": {
		func(b *bubble, s *zklock.Session, _ string) { b.server.ExpireSession(s.ID()) },
		"lock was lost: the ZooKeeper session has expired", zk.ErrSessionExpired,
	},
	"the node is deleted": {
		func(b *bubble, _ *zklock.Session, node string) {
			require.NoError(b.t, b.session("operator").Conn().Delete(node, -1))
		},
		"lock was lost: the lock node was deleted, or went with its session", nil,
	},
	"no server answers": {
		func(b *bubble, _ *zklock.Session, _ string) { b.server.Freeze() },
		"lock was lost: the lease is over: the session could not be proved alive in time", nil,
	},
	"the node is hidden": {
		func(b *bubble, _ *zklock.Session, node string) {
			_, err := b.session("operator").Conn().SetACL(node, zk.DigestACL(zk.PermAll, "ann", "secret"), -1)
			require.NoError(b.t, err)
		},
		"does not let this session read it", zk.ErrNoAuth,
	},
}

func TestALossSaysWhyInEveryError(t *testing.T) {
	for name, l := range losses {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				told := make(chan error, 1)
				s := b.session("mine")
				mu := b.locker(s, zklock.WithTrace(&zklock.Trace{Lost: func(i zklock.TraceInfo) { told <- i.Err }}))
				mu.Lock()
				h := mu.Held()
				require.NoError(t, h.Err())
				l.lose(b, s, h.Node())
				<-h.Lost()
				traced := <-told
				for what, err := range map[string]error{
					"Err":                     h.Err(),
					"the cause of its ctx":    context.Cause(h.Context()),
					"LockContext":             mu.LockContext(t.Context()),
					"UnlockContext":           mu.UnlockContext(t.Context()),
					"Release":                 h.Release(t.Context()),
					"Err, when all is over":   h.Err(),
					"Release, for the second": h.Release(t.Context()),
				} {
					require.ErrorIs(t, err, zklock.ErrLost, what)
					require.ErrorIs(t, err, traced, what)
					require.ErrorContains(t, err, l.says, what)
					if l.is != nil {
						require.ErrorIs(t, err, l.is, what)
					}
				}
				b.server.Thaw()
			})
		})
	}
}

func TestTheErrorOfALossIsTheSameEachTimeAndCostsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		h, err := b.locker(s).Acquire(t.Context())
		require.NoError(t, err)
		b.server.ExpireSession(s.ID())
		<-h.Lost()
		first := h.Err()
		require.True(t, first == h.Err(), "one value, which may be compared")
		require.Same(t, errors.Unwrap(h.Release(t.Context())), first)
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = h.Err() }))
	})
}
