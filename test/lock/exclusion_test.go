package lock_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// room is what a lock guards: it notices when two are in it at once.
type room struct {
	inside  atomic.Int32
	crowded atomic.Bool
	visits  int // a counter that only the lock protects
}

func (r *room) visit() {
	if r.inside.Add(1) > 1 {
		r.crowded.Store(true)
	}
	n := r.visits
	runtime.Gosched()
	r.visits = n + 1
	r.inside.Add(-1)
}

// ways are the calls that lead into a room.
var ways = []func(l *zklock.Locker, r *room) error{
	func(l *zklock.Locker, r *room) error {
		l.Lock()
		defer l.Unlock()
		r.visit()
		return nil
	},
	func(l *zklock.Locker, r *room) error {
		if err := l.LockContext(context.Background()); err != nil {
			return err
		}
		r.visit()
		return l.UnlockContext(context.Background())
	},
	func(l *zklock.Locker, r *room) error {
		for {
			if l.TryLock() {
				break
			}
			if ok, err := l.TryLockFor(context.Background(), 5*time.Millisecond); err != nil {
				return err
			} else if ok {
				break
			}
		}
		defer l.Unlock()
		r.visit()
		return nil
	},
	func(l *zklock.Locker, r *room) error {
		return l.Do(context.Background(), func(context.Context) error {
			r.visit()
			return nil
		})
	},
	func(l *zklock.Locker, r *room) error {
		h, err := l.Acquire(context.Background())
		if err != nil {
			return err
		}
		r.visit()
		return h.Release(context.Background())
	},
}

// requireExclusion has visitors goroutines for each of the lockers enter a room, each several
// times and by another of the ways.
func requireExclusion(t *testing.T, lockers []*zklock.Locker, visitors, visits int) {
	t.Helper()
	var (
		r    room
		work sync.WaitGroup
	)
	for i, l := range lockers {
		for j := range visitors {
			enter := ways[(i+j)%len(ways)]
			work.Go(func() {
				for range visits {
					if err := enter(l, &r); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	work.Wait()
	require.False(t, r.crowded.Load(), "two held the lock at once")
	require.Equal(t, len(lockers)*visitors*visits, r.visits, "increments were lost")
}

func TestGoroutinesOfOneLockerExcludeEachOther(t *testing.T) {
	at := newSite(t)
	requireExclusion(t, []*zklock.Locker{at.stranger()}, 2*len(ways), 20)
	at.awaitQueue(0)
}

func TestLockersOfOneSessionExcludeEachOther(t *testing.T) {
	at := newSite(t)
	s := at.session()
	requireExclusion(t, []*zklock.Locker{at.locker(s), at.locker(s), at.locker(s)}, len(ways), 10)
	at.awaitQueue(0)
}

func TestSessionsExcludeEachOther(t *testing.T) {
	at := newSite(t)
	var lockers []*zklock.Locker
	for range 5 {
		lockers = append(lockers, at.stranger())
	}
	requireExclusion(t, lockers, len(ways)-1, 10)
	at.awaitQueue(0)
}
