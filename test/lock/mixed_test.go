package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// asksFor are the calls that queue for a lock on path, all of which a semaphore there refuses.
func asksFor(t *testing.T, s *zklock.Session, path string) map[string]func(context.Context) error {
	l, rw := must(zklock.New(s, path)), must(zklock.NewRW(s, path))
	kept := must(zklock.New(s, path, zklock.WithHandoff(4), zklock.WithRetention(time.Second)))
	return map[string]func(context.Context) error{
		"LockContext":  l.LockContext,
		"TryAcquire":   func(ctx context.Context) error { return errOf(l.TryAcquire(ctx)) },
		"TryLockFor":   func(ctx context.Context) error { return errOf(l.TryLockFor(ctx, 0)) },
		"writer":       rw.LockContext,
		"reader":       rw.RLockContext,
		"with handoff": kept.LockContext,
	}
}

func TestALockWhereASemaphoreIsInUseIsRefused(t *testing.T) {
	for at, path := range map[string]string{"its path": "/x", "its turns": "/x/locks", "its permits": "/x/leases"} {
		t.Run(at, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("mine")
				permit := must(must(zklock.NewSemaphore(b.session("theirs"), "/x", 2)).Acquire(t.Context(), 1))
				for name, ask := range asksFor(t, s, path) {
					err := ask(aMinute(t))
					require.ErrorContains(t, err, path+" is used by a semaphore", name)
					require.ErrorContains(t, err, "/x/leases", name)
				}
				time.Sleep(time.Second)
				require.Equal(t, len(b.server.Children("/x/leases")), 1, "the refused have left nothing")
				require.Empty(t, b.server.Children("/x/locks"))
				require.NoError(t, permit.Release(t.Context()))
				l := must(zklock.New(s, path))
				require.NoError(t, l.LockContext(aMinute(t)), "it is in use no more")
				l.Unlock()
			})
		})
	}
}

func TestASemaphoreWhereALockIsInUseIsRefused(t *testing.T) {
	for _, path := range []string{"/x", "/x/leases"} {
		t.Run(path, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := must(zklock.New(b.session("theirs"), path))
				l.Lock()
				sem := must(zklock.NewSemaphore(b.session("mine"), "/x", 2))
				for name, err := range map[string]error{
					"Acquire": errOf(sem.Acquire(aMinute(t), 1)), "TryAcquire": errOf(sem.TryAcquire(aMinute(t), 1)),
				} {
					require.ErrorContains(t, err, "a lock is in use at "+path, name)
				}
				l.Unlock()
				time.Sleep(time.Second)
				require.NoError(t, sem.Do(aMinute(t), 1, nothing))
			})
		})
	}
}

// A directory may be called leases.
func TestALockAboveOtherLocksThatAreCalledAsASemaphoresQueuesIsGranted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		for _, path := range []string{"/app/locks/a", "/app/leases/a", "/app/locks", "/app/leases", "/app"} {
			l := must(zklock.New(s, path))
			require.NoError(t, l.LockContext(aMinute(t)), path)
			defer l.Unlock()
		}
	})
}

// A look that came to nothing is no look.
func TestALookForALockOrASemaphoreIsTakenUntilItIsAnswered(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Server, zktest.Op, ...zktest.Filter) *zktest.Fault{
		"the ctx ends": (*zktest.Server).HoldReply, "the connection ends": (*zktest.Server).DropReply,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				theirs, mine := b.session("theirs"), b.session("mine")
				// hindered asks while the list of that node, ahead of which those of others are
				// made, is not answered, and asks again if that has failed.
				hindered := func(ask func(context.Context) error, node string, ahead ...string) error {
					for _, other := range ahead { // whose names begin likewise
						passes := b.server.HoldReply(zktest.OpGetChildren2, zktest.OnPath(other), zktest.OnSession(mine.ID()))
						go func() {
							<-passes.Struck()
							passes.Release()
						}()
					}
					meets := fault(b.server, zktest.OpGetChildren2, zktest.OnPath(node), zktest.OnSession(mine.ID()))
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					err := ask(ctx)
					<-meets.Struck()
					meets.Release()
					if errors.Is(err, context.DeadlineExceeded) {
						err = ask(aMinute(t))
					}
					return err
				}
				sem := must(zklock.NewSemaphore(theirs, "/x", 2))
				permit := must(sem.Acquire(t.Context(), 1))
				turn := must(zklock.New(mine, "/x/locks"))
				require.ErrorContains(t, hindered(turn.LockContext, "/x/leases"), "is used by a semaphore")
				require.NoError(t, permit.Release(t.Context()))

				l := must(zklock.New(theirs, "/x"))
				require.NoError(t, l.LockContext(aMinute(t)))
				mySem := must(zklock.NewSemaphore(mine, "/x", 2))
				acquire := func(ctx context.Context) error { return errOf(mySem.Acquire(ctx, 1)) }
				require.ErrorContains(t, hindered(acquire, "/x", "/x/locks", "/x/leases"), "a lock is in use at /x")
				l.Unlock()
			})
		})
	}
}
