package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestTheEndOfAContextOutweighsTheHoldsThatItCarriesForAMultiLockerToo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("mine"))
		multi := must(zklock.NewMulti(l))
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			for name, err := range map[string]error{
				"Locker": l.LockContext(ctx), "LockContext": multi.LockContext(ctx), "TryLockFor": errOf(multi.TryLockFor(ctx, time.Hour)),
				"Acquire": errOf(multi.Acquire(ctx)), "Do": multi.Do(ctx, nothing),
			} {
				require.ErrorIs(t, err, context.Canceled, name)
				require.NotErrorIs(t, err, zklock.ErrDeadlock, name)
				require.ErrorContains(t, err, b.path, name)
			}
			return nil
		}))
	})
}

// Whichever of its locks is lost, and whenever its context is first asked for.
func TestTheContextOfAMultiHoldThatHasEndedTellsOfTheLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		lockers := (&site{t: t, path: b.path}).lockers(b.session("mine"), 3)
		other := b.session("theirs")
		for i := range lockers {
			h := must(must(zklock.NewMulti(lockers...)).Acquire(t.Context()))
			lost := h.Holds()[i]
			require.NoError(t, other.Conn().Delete(lost.Node(), -1))
			<-h.Lost()
			require.ErrorIs(t, h.Release(t.Context()), zklock.ErrLost)
			require.Error(t, h.Context().Err())
			require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrLost, "lock %d", i)
			require.NotErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased)
		}
		h := must(must(zklock.NewMulti(lockers...)).Acquire(t.Context()))
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased)
		require.Equal(t, lockers[2].Path(), zklock.HoldFrom(h.Context()).Node()[:len(lockers[2].Path())])
	})
}

// What the caller has held before, and has lost, no wait for another lock brings back.
func TestAMultiLockerWaitsForNothingWhenTheCallersOwnLockIsLost(t *testing.T) {
	for name, mine := range map[string]int{"the first lock": 0, "one behind that which is waited for": 1, "the last one": 2} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				at := &site{t: t, path: b.path}
				lockers, theirs := at.lockers(b.session("mine"), 3), at.lockers(b.session("theirs"), 3)
				waitedFor := map[int]int{0: 1, 1: 0, 2: 1}[mine]
				theirs[waitedFor].Lock()
				multi := must(zklock.NewMulti(lockers...))
				var err error
				nodes, ended := make(chan string, 1), make(chan struct{})
				go func() {
					defer close(ended)
					lockers[mine].Lock()
					defer lockers[mine].Unlock()
					nodes <- lockers[mine].Held().Node()
					err = multi.LockContext(context.Background())
				}()
				node := <-nodes
				synctest.Wait()
				require.Len(t, b.server.Children(at.part(waitedFor)), 2)
				require.NoError(t, b.session("operator").Conn().Delete(node, -1))
				time.Sleep(longSession / 2) // by then the session has heard of it
				select {
				case <-ended:
				default:
					t.Error("it waits for another's lock")
				}
				theirs[waitedFor].Unlock()
				<-ended
				require.ErrorIs(t, err, zklock.ErrLost)
				require.ErrorContains(t, err, at.part(mine))
			})
		})
	}
}

// The lock that it starts over with is another's by then.
func TestAMultiLockerThatStartsOverTellsOfTheCallersLossAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		mine, theirs := at.lockers(b.session("mine"), 3), at.lockers(b.session("theirs"), 3)
		theirs[2].Lock()
		var err error
		nodes, ended := make(chan string, 1), make(chan struct{})
		go func() {
			defer close(ended)
			mine[1].Lock()
			defer mine[1].Unlock()
			nodes <- mine[1].Held().Node()
			err = must(zklock.NewMulti(mine...)).LockContext(context.Background())
		}()
		node := <-nodes
		synctest.Wait() // it has the first two
		unlock, unlocked := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(unlocked)
			theirs[0].Lock()
			<-unlock
			theirs[0].Unlock()
		}()
		synctest.Wait()
		require.NoError(t, b.session("operator").Conn().Delete(node, -1))
		time.Sleep(longSession / 2) // by then the session has heard of it
		select {
		case <-ended:
		default:
			t.Error("it waits for another's lock")
		}
		close(unlock)
		<-unlocked
		theirs[2].Unlock()
		<-ended
		require.ErrorIs(t, err, zklock.ErrLost)
	})
}

// A lock without an owner is not reentrant: who asks for it under its own hold waits for himself,
// and is not to wait for the other locks before.
func TestAMultiLockerUnderAHoldOfALockWithoutAnOwnerIsADeadlockAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		lockers := at.lockers(b.session("mine"), 2, zklock.WithoutOwner())
		theirs := at.lockers(b.session("theirs"), 1)[0]
		theirs.Lock()
		lockers[1].Lock()
		ctx, cancel := context.WithTimeout(lockers[1].Held().Context(), time.Second)
		defer cancel()
		m := must(zklock.NewMulti(lockers...))
		require.ErrorIs(t, m.LockContext(ctx), zklock.ErrDeadlock)
		locked, err := m.TryLockFor(ctx, time.Hour)
		require.ErrorIs(t, err, zklock.ErrDeadlock)
		require.False(t, locked)
		require.NoError(t, ctx.Err())
		locked, err = m.TryLockFor(ctx, 0)
		require.NoError(t, err, "it waits for nobody")
		require.False(t, locked)
		lockers[1].Unlock()
		theirs.Unlock()
	})
}

// The locks are taken in the order of their paths. What panics is the trace's, as the last of them stands in its
// queue or is had.
func TestOfSeveralLocksNoneIsHeldWhenTakingOneOfThemPanics(t *testing.T) {
	ways := map[string]func(*zklock.MultiLocker){
		"Lock":        (*zklock.MultiLocker).Lock,
		"LockContext": func(m *zklock.MultiLocker) { _ = m.LockContext(context.Background()) },
		"TryLock":     func(m *zklock.MultiLocker) { m.TryLock() },
		"TryLockFor":  func(m *zklock.MultiLocker) { _, _ = m.TryLockFor(context.Background(), time.Second) },
		"Acquire":     func(m *zklock.MultiLocker) { _, _ = m.Acquire(context.Background()) },
		"Do":          func(m *zklock.MultiLocker) { _ = m.Do(context.Background(), nothing) },
	}
	for name, take := range ways {
		for _, position := range []string{"Enqueued", "Acquired"} {
			t.Run(name+", "+position, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bubble) {
					trace := new(zklock.Trace)
					positions[position](trace, func(zklock.TraceInfo) { panic(errUsers) })
					s, theirs := b.session("mine"), b.session("theirs")
					paths := []string{"/1", "/2", "/3"}
					var parts []*zklock.Locker
					for i, path := range paths {
						opts := []zklock.Option{zklock.WithTrace(trace)}[:i/2]
						parts = append(parts, must(zklock.New(s, path, opts...)))
					}
					elsewhere(func() {
						defer func() { _ = recover() }()
						take(must(zklock.NewMulti(parts...)))
					})
					ctx, cancel := context.WithTimeout(t.Context(), longSession/4)
					defer cancel()
					for _, path := range paths {
						_, err := must(zklock.New(theirs, path)).Acquire(ctx)
						require.NoError(t, err, "taking %s did not return, and %s is held", paths[2], path)
					}
				})
			})
		}
	}
}

// crowd is a context that counts the children that stand in it.
type crowd struct {
	context.Context
	children atomic.Int32
}

func (c *crowd) Value(any) any { return nil } // so that none comes into the context that it wraps

func (c *crowd) AfterFunc(f func()) (stop func() bool) {
	c.children.Add(1)
	inner := context.AfterFunc(c.Context, f)
	return func() bool {
		c.children.Add(-1)
		return inner()
	}
}

func TestACallLeavesNothingInItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := &site{t: t, path: b.path}
		s := b.session("here")
		parts := at.lockers(s, 2)
		require.NoError(t, parts[0].Do(t.Context(), nothing))
		_, err := s.Conn().Create(at.part(1), nil, 0, zk.WorldACL(zk.PermRead))
		require.NoError(t, err)
		under, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx := &crowd{Context: under}
		m := must(zklock.NewMulti(parts...))
		require.ErrorIs(t, m.LockContext(ctx), zk.ErrNoAuth)
		require.ErrorIs(t, errOf(m.Acquire(ctx)), zk.ErrNoAuth)
		require.True(t, must(parts[0].TryLockFor(ctx, time.Hour)))
		parts[0].Unlock()
		require.Zero(t, ctx.children.Load())
	})
}
