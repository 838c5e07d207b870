package lock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// causes are what the ctx of an errgroup ends with when another of its goroutines was told so
// by a server.
var causes = []error{zk.ErrNoNode, zk.ErrNoAuth, zk.ErrAuthFailed, zklock.ErrLocked}

// misled are calls that ask a server, or may, and what they return if it answers.
var misled = map[string]struct {
	before func(*hindered)
	call   func(w *hindered, ctx context.Context) error
}{
	"Inspect": {lockedByThem, func(w *hindered, ctx context.Context) error {
		found, err := zklock.Inspect(ctx, w.mine.Session, statesPath)
		if err == nil {
			require.Len(w.t, found, 1)
		}
		return err
	}},
	"Revoke": {
		func(w *hindered) { w.theirs.hold = must(w.theirs.lock.Acquire(w.ctx)) },
		func(w *hindered, ctx context.Context) error {
			return zklock.Revoke(ctx, w.mine.Session, w.theirs.hold.Node())
		},
	},
	"RLockContext, writing": {
		func(w *hindered) { w.mine.rw.Lock() },
		func(w *hindered, ctx context.Context) error { return w.mine.rw.RLockContext(ctx) },
	},
	"LockContext": {nil, func(w *hindered, ctx context.Context) error { return w.mine.lock.LockContext(ctx) }},
	"Acquire of a Semaphore": {nil, func(w *hindered, ctx context.Context) error {
		_, err := w.mine.sem.Acquire(ctx, 1)
		return err
	}},
	"Connect": {nil, func(w *hindered, ctx context.Context) error {
		s, err := zklock.Connect(ctx, []string{w.server.PipeAddr()}, statesTime, zklock.WithDialer(w.place.Dial), login("ann"))
		if err == nil {
			s.Close()
		}
		return err
	}},
	"Join": {nil, func(w *hindered, ctx context.Context) error {
		_, err := membership.Join(ctx, w.mine.Session, "/servers", nil)
		return err
	}},
	"Leave": {joinedByUs, func(w *hindered, ctx context.Context) error { return w.member.Leave(ctx) }},
}

func TestTheCauseOfACtxIsToldAndNotTakenForAnAnswerOfTheServer(t *testing.T) {
	for name, c := range misled {
		for _, cause := range causes {
			t.Run(fmt.Sprintf("%s/%v", name, cause), func(t *testing.T) {
				for end, over := time.Duration(0), false; !over; end += time.Millisecond / 2 {
					virtual.Test(t, func(t *testing.T) {
						w := newHindered(t, nil, zktest.WithLatency(time.Millisecond, time.Millisecond))
						defer w.end()
						if c.before != nil {
							c.before(w)
						}
						ctx, cancel := context.WithCancelCause(w.ctx)
						time.AfterFunc(end, func() { cancel(cause) })
						err := c.call(w, ctx)
						if over = err == nil && ctx.Err() == nil; err == nil {
							return
						}
						require.ErrorIs(t, err, context.Canceled)
						require.ErrorIs(t, err, cause)
						require.NotErrorIs(t, err, zklock.ErrLost)
						require.NotContains(t, err.Error(), "ACL")
						require.NotContains(t, err.Error(), "refused")
					})
				}
			})
		}
	}
}

// hookedCtx is a context with code of the user in it.
type hookedCtx struct {
	context.Context
	hook func()
}

func (c hookedCtx) Err() error {
	c.hook()
	return c.Context.Err()
}

func TestACallWithoutAContextSaysSoAndChangesNothing(t *testing.T) {
	for name, c := range timelyCalls() {
		if strings.HasSuffix(name, ".TryLock") || strings.HasSuffix(name, ".TryRLock") || strings.Contains(name, " ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				w := newHindered(t, nil)
				defer w.end()
				if c.before != nil {
					c.before(w)
				}
				w.until = time.Now().Add(time.Second)
				require.PanicsWithValue(t, "zklock: the context is nil", func() { _ = c.call(w, nil) })
				if name != "membership.Watch" { // which goes on
					require.NoError(t, c.call(w, t.Context()))
				}
			})
		})
	}
	var none context.Context
	require.PanicsWithValue(t, "zklock: the context is nil", func() { zklock.HoldFrom(none) })
	require.Nil(t, zklock.HoldFrom(t.Context()))
	require.PanicsWithValue(t, "zklock: the context is nil", func() { zklock.Connect(none, []string{"localhost"}, time.Second) })
}
