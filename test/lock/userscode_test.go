package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

var errUsers = errors.New("a panic of the user's")

// failing is a function of the user of which one call, counted from 1, panics.
type failing struct {
	call  int64
	calls atomic.Int64
}

func (f *failing) run() {
	if f.calls.Add(1) == f.call {
		panic(errUsers)
	}
}

// positions are the functions of a trace that the goroutine of a call runs.
var positions = map[string]func(*zklock.Trace, func(zklock.TraceInfo)){
	"Enqueued": func(t *zklock.Trace, f func(zklock.TraceInfo)) { t.Enqueued = f },
	"Acquired": func(t *zklock.Trace, f func(zklock.TraceInfo)) { t.Acquired = f },
	"Failed":   func(t *zklock.Trace, f func(zklock.TraceInfo)) { t.Failed = f },
	"Released": func(t *zklock.Trace, f func(zklock.TraceInfo)) { t.Released = f },
}

// use takes a lock, under ctx if it can, and gives it back.
type use func(ctx context.Context) error

// kind is a lock that its users take in one way; take makes it, and a stranger's hold that it
// has to wait for.
type kind func(b *bubble, s, stranger *zklock.Session, opts ...zklock.Option) (use, *zklock.Hold)

func had(ok bool, err error) error {
	if !ok && err == nil {
		return zklock.ErrLocked
	}
	return err
}

// between gives back by unlock what lock has taken.
func between(lock func(context.Context) error, unlock func()) use {
	return func(ctx context.Context) error {
		if err := lock(ctx); err != nil {
			return err
		}
		defer unlock()
		return nil
	}
}

func released(acquire func(context.Context) (*zklock.Hold, error)) use {
	return func(ctx context.Context) error {
		h, err := acquire(ctx)
		if err != nil {
			return err
		}
		return h.Release(ctx)
	}
}

// side is one side of a lock that its goroutine owns.
type side interface {
	sync.Locker
	LockContext(ctx context.Context) error
	TryLock() bool
	TryLockFor(ctx context.Context, d time.Duration) (bool, error)
}

func sideways(l side) map[string]use {
	return map[string]use{
		"Lock":        between(func(context.Context) error { l.Lock(); return nil }, l.Unlock),
		"LockContext": between(l.LockContext, l.Unlock),
		"TryLock":     between(func(context.Context) error { return had(l.TryLock(), nil) }, l.Unlock),
		"TryLockFor":  between(func(ctx context.Context) error { return had(l.TryLockFor(ctx, 2*time.Second)) }, l.Unlock),
	}
}

func lockerWays(l *zklock.Locker) map[string]use {
	ways := sideways(l)
	ways["Do"] = func(ctx context.Context) error { return l.Do(ctx, func(context.Context) error { return nil }) }
	ways["Acquire"], ways["TryAcquire"] = released(l.Acquire), released(l.TryAcquire)
	ways["UnlockContext"] = between(l.LockContext, func() { _ = l.UnlockContext(context.Background()) })
	return ways
}

// readSide is the reading side of an RWLocker.
type readSide struct{ *zklock.RWLocker }

func (r readSide) Lock()                                 { r.RLock() }
func (r readSide) Unlock()                               { r.RUnlock() }
func (r readSide) LockContext(ctx context.Context) error { return r.RLockContext(ctx) }
func (r readSide) TryLock() bool                         { return r.TryRLock() }
func (r readSide) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	return r.TryRLockFor(ctx, d)
}

func rwWays(l *zklock.RWLocker) map[string]use {
	ways := map[string]use{
		"RAcquire": released(l.RAcquire), "TryRAcquire": released(l.TryRAcquire),
		"downgrade": between(l.LockContext, func() {
			defer l.Unlock()
			if l.RLockContext(context.Background()) == nil {
				defer l.RUnlock()
			}
		}),
		"RUnlockContext": between(l.RLockContext, func() { _ = l.RUnlockContext(context.Background()) }),
	}
	for name, way := range sideways(l) {
		ways[name] = way
	}
	for name, way := range sideways(readSide{l}) {
		ways["R"+name] = way
	}
	return ways
}

// kinds are all of them, by name.
func kinds() map[string]kind {
	all := make(map[string]kind)
	add := func(name string, ways func(b *bubble, s *zklock.Session, opts []zklock.Option) map[string]use, of map[string]use,
		hold func(b *bubble, s *zklock.Session) (*zklock.Hold, error),
	) {
		for way := range of {
			all[name+", "+way] = func(b *bubble, s, stranger *zklock.Session, opts ...zklock.Option) (use, *zklock.Hold) {
				held, err := hold(b, stranger)
				require.NoError(b.t, err)
				return ways(b, s, opts)[way], held
			}
		}
	}
	mutex := func(b *bubble, s *zklock.Session) (*zklock.Hold, error) { return b.locker(s).Acquire(b.t.Context()) }
	for name, more := range map[string][]zklock.Option{
		"Locker":            nil,
		"Locker, ownerless": {zklock.WithoutOwner()},
		"Locker, hand-off":  {zklock.WithHandoff(10)},
		"Locker, retention": {zklock.WithRetention(time.Second)},
		"Locker, both":      {zklock.WithHandoff(2), zklock.WithRetention(time.Second)},
	} {
		add(name, func(b *bubble, s *zklock.Session, opts []zklock.Option) map[string]use {
			return lockerWays(b.locker(s, append(opts, more...)...))
		}, lockerWays(nil), mutex)
	}
	add("RWLocker", func(b *bubble, s *zklock.Session, opts []zklock.Option) map[string]use {
		return rwWays(b.rw(s, opts...))
	}, rwWays(nil), mutex)
	permits := func(l *zklock.Semaphore) map[string]use {
		return map[string]use{
			"Acquire":    released(func(ctx context.Context) (*zklock.Hold, error) { return l.Acquire(ctx, 2) }),
			"TryAcquire": released(func(ctx context.Context) (*zklock.Hold, error) { return l.TryAcquire(ctx, 2) }),
		}
	}
	add("Semaphore", func(b *bubble, s *zklock.Session, opts []zklock.Option) map[string]use {
		return permits(b.semaphore(s, 3, opts...))
	}, permits(nil), func(b *bubble, s *zklock.Session) (*zklock.Hold, error) {
		return b.semaphore(s, 3).Acquire(b.t.Context(), 2)
	})
	several := func(l *zklock.MultiLocker) map[string]use {
		ways := sideways(l)
		ways["UnlockContext"] = between(l.LockContext, func() { _ = l.UnlockContext(context.Background()) })
		return ways
	}
	add("MultiLocker", func(b *bubble, s *zklock.Session, opts []zklock.Option) map[string]use {
		other := bubble{b.t, b.server, "/another"} // taken before the stranger's
		return several(must(zklock.NewMulti(other.locker(s, opts...), b.locker(s, opts...))))
	}, several(nil), mutex)
	return all
}

// worker uses a lock until that succeeds, also after a function of the user has ended its call,
// on the same goroutine.
type worker struct {
	use     use
	done    bool
	trouble any // why it has given up
}

func (w *worker) run() {
	defer func() {
		if p := recover(); p != nil && p != errUsers { // nil: the goroutine is ending
			w.trouble = p
		}
		if !w.done && w.trouble == nil {
			w.run()
		}
	}()
	for limit := time.Now().Add(10 * time.Second); !w.done; time.Sleep(time.Second / 20) {
		if w.done = w.once() == nil; !w.done && time.Now().After(limit) {
			w.trouble = "the lock cannot be had"
			return
		}
	}
}

func (w *worker) once() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return w.use(ctx)
}

func (b *bubble) ephemerals() (nodes []string) {
	for _, n := range b.server.Nodes() {
		if n.Stat.EphemeralOwner != 0 {
			nodes = append(nodes, n.Path)
		}
	}
	return nodes
}

func TestAFunctionOfATraceThatDoesNotReturnLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds() {
		for position, set := range positions {
			for call := range int64(2) {
				if skips() > 1 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %d", name, position, 1+call), func(t *testing.T) {
					inBubble(t, func(t *testing.T, b *bubble) {
						f := &failing{call: 1 + call}
						trace := new(zklock.Trace)
						set(trace, func(zklock.TraceInfo) { f.run() })
						requireUsable(t, b, kind, trace)
						never := position == "Failed" && strings.HasSuffix(name, "Lock") || position == "Enqueued" && call > 0
						require.True(t, never || f.calls.Load() > call, "it was called %d times", f.calls.Load())
					})
				})
			}
		}
	}
}

// requireUsable has three goroutines use a lock of that kind at once while a stranger has it
// for some time.
func requireUsable(t *testing.T, b *bubble, kind kind, trace *zklock.Trace) {
	s, stranger := b.session("owner"), b.session("stranger")
	use, held := kind(b, s, stranger, zklock.WithTrace(trace))
	workers := make([]*worker, 3)
	ended := new(sync.WaitGroup)
	for i := range workers {
		workers[i] = &worker{use: use}
		ended.Go(workers[i].run)
	}
	time.Sleep(3 * time.Second)
	require.NoError(t, held.Release(t.Context()))
	late := time.AfterFunc(20*time.Second, func() { s.Close() })
	ended.Wait()
	require.True(t, late.Stop(), "a goroutine would wait for ever")
	for _, w := range workers {
		require.Nil(t, w.trouble)
	}
	time.Sleep(2 * time.Second) // for which nothing is retained
	require.Empty(t, b.ephemerals())
	last := &worker{use: use}
	elsewhere(last.run)
	require.Nil(t, last.trouble)
	time.Sleep(2 * time.Second)
	require.Empty(t, b.ephemerals())
	require.True(t, b.locker(stranger).TryLock())
	require.NoError(t, s.Close())
	synctest.Wait()
}

func TestAFunctionInDoThatDoesNotReturnGivesTheLockBack(t *testing.T) {
	for name, opts := range map[string][]zklock.Option{
		"alone": nil, "hand-off": {zklock.WithHandoff(10)}, "retention": {zklock.WithRetention(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				f := &failing{call: 1}
				requireUsable(t, b, func(b *bubble, s, stranger *zklock.Session, trace ...zklock.Option) (use, *zklock.Hold) {
					held, err := b.locker(stranger).Acquire(t.Context())
					require.NoError(t, err)
					l := b.locker(s, append(trace, opts...)...)
					return func(ctx context.Context) error {
						return l.Do(ctx, func(context.Context) error { f.run(); return nil })
					}, held
				}, nil)
			})
		})
	}
}

func TestTheTraceGoesOnBehindAFunctionThatDoesNotReturn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var tale tale
		trace := tale.trace()
		trace.Acquired = func(zklock.TraceInfo) { panic(errUsers) }
		elsewhere(func() {
			defer func() { _ = recover() }()
			l := b.locker(b.session("owner"), zklock.WithTrace(trace))
			l.Lock()
			b.server.Cut()
			time.Sleep(longSession / 2)
			l.Unlock()
		})
		tale.next(t, "enqueued released")
	})
}

// brittle is a context of the user's that panics from some time on.
type brittle struct {
	context.Context
	done   chan struct{}
	broken atomic.Bool
}

func (c *brittle) Done() <-chan struct{} {
	if c.broken.Load() {
		panic(errUsers)
	}
	return c.done
}

// The context package asks the parent of a context that is cancelled.
func TestAContextThatPanicsWhenAHoldEndsCostsNeitherTheLockNorTheSession(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		l := b.locker(s)
		ctx := &brittle{Context: context.Background(), done: make(chan struct{})}
		var inside []context.Context
		err := panicOf(t, func() {
			_ = l.Do(ctx, func(of context.Context) error {
				inside = []context.Context{of, zklock.HoldFrom(of).Context()}
				synctest.Wait() // until the context package has asked it for the first time
				ctx.broken.Store(true)
				return nil
			})
		})
		require.ErrorIs(t, err, errUsers)
		for _, of := range inside {
			require.ErrorIs(t, context.Cause(of), zklock.ErrReleased)
		}
		synctest.Wait()
		require.Zero(t, b.queue())
		require.NoError(t, l.LockContext(t.Context()))
		require.NoError(t, l.UnlockContext(t.Context()))
		require.NoError(t, s.Close())
	})
}
