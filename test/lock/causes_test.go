package lock_test

import (
	"context"
	"fmt"
	"net"
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
	"Leave": {joined, func(w *hindered, ctx context.Context) error { return w.member.Leave(ctx) }},
}

func TestTheCauseOfACtxIsToldAndNotTakenForAnAnswerOfTheServer(t *testing.T) {
	for name, c := range misled {
		for _, cause := range causes {
			t.Run(fmt.Sprintf("%s/%v", name, cause), func(t *testing.T) {
				for end, over := time.Duration(0), false; !over; end += time.Millisecond / 2 {
					virtual.Test(t, func(t *testing.T) {
						server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
						w := &hindered{scene: &scene{t: t, server: server, ctx: t.Context()}, place: server.Client("mine")}
						w.mine, w.theirs = w.actorVia(w.place.Dial), w.actor("theirs")
						defer func() {
							for _, f := range w.atEnd {
								f()
							}
						}()
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

// A tunnel may report the end of its own deadline, by which go-zookeeper limits each write, as
// that of a ctx.
func TestTheErrorOfAConnectionIsNotTakenForTheEndOfACtx(t *testing.T) {
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		for frames, last := 0, false; !last; frames++ {
			virtual.Test(t, func(t *testing.T) {
				b := &bubble{t, zktest.NewServer(t), "/lock"}
				w := &wire{dial: b.server.Dial}
				w.arm(1<<30, nil)
				s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
					zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
						conn, err := w.connect(network, address, timeout)
						return &tunnel{conn, w, cause}, err
					}))
				require.NoError(t, err)
				defer s.Close()
				l := b.locker(s)
				w.arm(frames, nil)
				require.NoError(t, l.LockContext(t.Context()))
				require.NoError(t, l.UnlockContext(t.Context()))
				time.Sleep(time.Second)
				require.Zero(t, b.queue())
				last = w.remain()
			})
		}
	}
}

// tunnel is a connection of which one write fails with an error of its own.
type tunnel struct {
	net.Conn
	wire  *wire
	cause error
}

func (c *tunnel) Write(frame []byte) (int, error) {
	c.wire.mu.Lock()
	due := c.wire.frames == 0
	c.wire.mu.Unlock()
	if due {
		c.wire.pass()
		return 0, fmt.Errorf("the tunnel is closed: %w", c.cause)
	}
	return c.Conn.Write(frame)
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

func TestTheLockIsHeldByAnotherUntilTheMomentOfItsHandover(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("mine"), zklock.WithHandoff(4))
		for range 5000 {
			h, err := l.Acquire(t.Context())
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			released := begin(func() error {
				time.Sleep(time.Second) // when the waiter's time is up
				return h.Release(context.Background())
			})
			next, err := l.Acquire(ctx)
			cancel()
			require.NoError(t, <-released)
			if err == nil {
				require.NoError(t, next.Release(t.Context()))
				continue
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, zklock.ErrLocked)
		}
	})
}

func TestAMultiLockerThatIsLockedOnceMoreAsItsSessionIsClosedSaysThat(t *testing.T) {
	asked := 1
	for at := 1; asked >= at; at++ { // whenever the call looks at its ctx
		inBubble(t, func(t *testing.T, b *bubble) {
			mine, other := b.session("mine"), b.session("other")
			first, second := must(zklock.New(mine, "/a")), must(zklock.New(other, "/b"))
			m := must(zklock.NewMulti(first, second))
			m.Lock()
			asked = 0
			err := m.LockContext(hookedCtx{t.Context(), func() {
				if asked++; asked == at {
					require.NoError(t, mine.Close())
				}
			}})
			if asked >= at {
				require.ErrorIs(t, err, zklock.ErrClosed)
			}
		})
	}
}

func TestACallWithoutAContextSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		l, rw, free := b.locker(s), must(zklock.NewRW(s, "/rw")), must(zklock.New(s, "/free"))
		both, m := must(zklock.NewMulti(must(zklock.New(s, "/first")), must(zklock.New(s, "/second")))), must(membership.Join(t.Context(), s, "/members", nil))
		h, holds := must(free.Acquire(t.Context())), must(must(zklock.NewMulti(must(zklock.New(s, "/third")))).Acquire(t.Context()))
		l.Lock()
		rw.RLock()
		both.Lock()
		for name, f := range map[string]func(ctx context.Context){
			"Ping":        func(ctx context.Context) { s.Ping(ctx) },
			"Inspect":     func(ctx context.Context) { zklock.Inspect(ctx, s, "/lock") },
			"HoldFrom":    func(ctx context.Context) { zklock.HoldFrom(ctx) },
			"Watch":       func(ctx context.Context) { membership.Watch(ctx, s, "/members") },
			"Update":      func(ctx context.Context) { m.Update(ctx, []byte("new")) },
			"Leave":       func(ctx context.Context) { m.Leave(ctx) },
			"Release":     func(ctx context.Context) { h.Release(ctx) },
			"MultiHold":   func(ctx context.Context) { holds.Release(ctx) },
			"Unlock":      func(ctx context.Context) { l.UnlockContext(ctx) },
			"RUnlock":     func(ctx context.Context) { rw.RUnlockContext(ctx) },
			"UnlockAll":   func(ctx context.Context) { both.UnlockContext(ctx) },
			"UnlockNone":  func(ctx context.Context) { must(zklock.NewMulti(free)).UnlockContext(ctx) },
			"LockContext": func(ctx context.Context) { l.LockContext(ctx) },
			"Acquire":     func(ctx context.Context) { l.Acquire(ctx) },
			"TryLockFor":  func(ctx context.Context) { l.TryLockFor(ctx, time.Second) },
			"Do":          func(ctx context.Context) { l.Do(ctx, func(context.Context) error { return nil }) },
			"MultiLocker": func(ctx context.Context) { must(zklock.NewMulti(l)).LockContext(ctx) },
			"Semaphore":   func(ctx context.Context) { b.semaphore(s, 1).Acquire(ctx, 1) },
			"Connect":     func(ctx context.Context) { zklock.Connect(ctx, []string{"localhost"}, time.Second) },
			"Revoke":      func(ctx context.Context) { zklock.Revoke(ctx, s, "/lock") },
			"Join":        func(ctx context.Context) { membership.Join(ctx, s, "/members", nil) },
		} {
			require.PanicsWithValue(t, "zklock: the context is nil", func() { f(nil) }, name)
		}
		require.True(t, h.Valid() && holds.Valid(), "what was not released is held")
		for _, unlock := range []func(context.Context) error{l.UnlockContext, rw.RUnlockContext, both.UnlockContext, m.Leave} {
			require.NoError(t, unlock(t.Context()), "what was not given back can be")
		}
		require.NoError(t, l.LockContext(t.Context()))
	})
}
