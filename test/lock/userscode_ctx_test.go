package lock_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// asking is a context whose methods ask the session.
type asking struct {
	context.Context
	t       *testing.T
	session *zklock.Session
	other   *zklock.Hold // in the same session
}

func (c asking) Done() <-chan struct{} { c.ask(); return c.Context.Done() }
func (c asking) Err() error            { c.ask(); return c.Context.Err() }
func (c asking) Value(key any) any     { c.ask(); return c.Context.Value(key) }

// ask fails instead of waiting for ever.
func (c asking) ask() {
	var answered atomic.Bool
	go func() {
		c.session.ID()
		c.other.Token() // under the mutex that grants
		answered.Store(true)
	}()
	for range 1_000_000 {
		if answered.Load() {
			return
		}
		runtime.Gosched()
	}
	c.t.Error("called under a lock of the session")
}

func TestTheMethodsOfAContextMayAskTheSession(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("owner")
				use, held := kind(b, s, b.session("stranger"))
				require.NoError(t, held.Release(t.Context()))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				other, err := zklock.New(s, "/other")
				require.NoError(t, err)
				h, err := other.Acquire(ctx)
				require.NoError(t, err)
				require.NoError(t, use(asking{ctx, t, s, h}))
			})
		})
	}
	t.Run("of who is handed the lock", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bubble) {
			s := b.session("owner")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l := must(zklock.New(s, "/handed"))
			h, err := l.Acquire(ctx)
			require.NoError(t, err)
			next := make(chan error, 1)
			go func() {
				_, err := l.Acquire(asking{ctx, t, s, h})
				next <- err
			}()
			synctest.Wait()
			require.NoError(t, h.Release(ctx))
			require.NoError(t, <-next)
		})
	})
}

// recycled is a context that its owner uses for something else when the call is over, as some
// web frameworks do.
type recycled struct {
	context.Context
	over atomic.Bool
	late atomic.Int64 // calls of its methods since
}

func (c *recycled) note() {
	if c.over.Load() {
		c.late.Add(1)
	}
}

func (c *recycled) Deadline() (time.Time, bool) { c.note(); return c.Context.Deadline() }
func (c *recycled) Done() <-chan struct{}       { c.note(); return c.Context.Done() }
func (c *recycled) Err() error                  { c.note(); return c.Context.Err() }
func (c *recycled) Value(key any) any           { c.note(); return c.Context.Value(key) }

func TestWhatACallLeavesToTheBackgroundDoesNotUseItsContext(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpCreate, zktest.OpMulti, zktest.OpSync, zktest.OpGetChildren2} {
		t.Run(op.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("owner")
				locker, semaphore := b.locker(s), b.semaphore(s, 1)
				for name, use := range map[string]use{
					"lock": locker.LockContext, "acquire": released(locker.Acquire), "try": released(locker.TryAcquire),
					"permit": released(func(ctx context.Context) (*zklock.Hold, error) { return semaphore.Acquire(ctx, 1) }),
				} {
					request := b.server.HoldRequest(op)
					ctx := &recycled{Context: within(t, time.Second)}
					elsewhere(func() { _ = use(ctx) })
					ctx.over.Store(true)
					b.server.Cut()
					time.Sleep(time.Minute)
					request.Release()
					time.Sleep(time.Minute)
					require.Zero(t, ctx.late.Load(), name)
					if locker.HoldCount() > 0 {
						locker.Unlock()
					}
				}
			})
		})
	}
}

// fragile is a context of which one call by the goroutine that made it panics. What the context
// package does with it is done by others.
type fragile struct {
	context.Context
	by    int64
	fails *failing
}

func (c *fragile) touch() {
	if goid.Get() == c.by {
		c.fails.run()
	}
}

func (c *fragile) Deadline() (time.Time, bool) { c.touch(); return c.Context.Deadline() }
func (c *fragile) Done() <-chan struct{}       { c.touch(); return c.Context.Done() }
func (c *fragile) Err() error                  { c.touch(); return c.Context.Err() }
func (c *fragile) Value(key any) any           { c.touch(); return c.Context.Value(key) }

// throughFragileContexts has a call's context panic each time that it is asked, one time after
// the other, in a bubble each, and looks at what that leaves.
func throughFragileContexts(t *testing.T, timeout time.Duration, scene func(t *testing.T, b *bubble) (call use, after func())) {
	t.Helper()
	for at, more := 1+skips()/4, true; more; at += 1 + skips() {
		t.Run(strconv.FormatInt(at, 10), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				call, after := scene(t, b)
				f := &failing{call: at}
				elsewhere(func() {
					defer func() { _ = recover() }()
					ctx, cancel := context.WithTimeout(context.Background(), timeout)
					defer cancel()
					_ = call(&fragile{ctx, goid.Get(), f})
				})
				after()
				more = f.calls.Load() >= at
			})
		})
	}
}

func TestAContextThatPanicsCostsNobodyTheLock(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds() {
		for outcome, waits := range map[string]time.Duration{"had": time.Second, "in vain": 4 * time.Second} {
			t.Run(name+", "+outcome, func(t *testing.T) {
				throughFragileContexts(t, 3*time.Second, func(t *testing.T, b *bubble) (use, func()) {
					s := b.session("owner")
					use, held := kind(b, s, b.session("stranger"))
					time.AfterFunc(waits, func() { assert.NoError(t, held.Release(context.Background())) })
					return use, func() {
						time.Sleep(10 * time.Second)
						require.Empty(t, b.ephemerals())
						again := &worker{use: use}
						elsewhere(again.run)
						require.Nil(t, again.trouble)
					}
				})
			})
		}
	}
}

// The others wait for an owner that has lost the lock.
func TestAContextThatPanicsCostsNobodyTheLockOfALatecomer(t *testing.T) {
	for outcome, waits := range map[string]time.Duration{"had": time.Second, "in vain": 4 * time.Second} {
		t.Run(outcome, func(t *testing.T) {
			throughFragileContexts(t, 3*time.Second, func(t *testing.T, b *bubble) (use, func()) {
				s := b.session("owner")
				l := b.locker(s, zklock.WithoutOwner())
				l.Lock()
				require.NoError(t, b.session("operator").Conn().Delete(l.Held().Node(), -1))
				<-l.Lost()
				time.AfterFunc(waits, l.Unlock)
				use := between(l.LockContext, l.Unlock)
				return use, func() {
					time.Sleep(10 * time.Second)
					require.Empty(t, b.ephemerals())
					again := &worker{use: use}
					elsewhere(again.run)
					require.Nil(t, again.trouble)
				}
			})
		})
	}
}

func TestAContextThatPanicsLeavesNoSession(t *testing.T) {
	throughFragileContexts(t, time.Second, func(t *testing.T, b *bubble) (use, func()) {
		b.server.Client("").Delay(zktest.ToServer, time.Millisecond, time.Millisecond)
		return func(ctx context.Context) error {
			s, err := zklock.Connect(ctx, []string{b.server.PipeAddr()}, longSession,
				zklock.WithDialer(b.server.Dial), zklock.WithAuth("digest", []byte("user:password")))
			if err == nil {
				err = s.Close()
			}
			return err
		}, func() { time.Sleep(2 * longSession) } // then all goroutines of the bubble are gone
	})
}

func TestAContextThatPanicsLeavesNoMember(t *testing.T) {
	throughFragileContexts(t, time.Second, func(t *testing.T, b *bubble) (use, func()) {
		s := b.session("owner")
		return func(ctx context.Context) error {
				m, err := membership.Join(ctx, s, b.path, nil)
				if err == nil {
					err = m.Leave(ctx)
				}
				return err
			}, func() {
				time.Sleep(time.Second)
				require.Empty(t, b.ephemerals())
			}
	})
}
