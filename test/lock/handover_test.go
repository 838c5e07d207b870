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
	"github.com/zklock/zklock/zktest"
)

// turn is one possession of a lock, of which nobody is to see the next one while it lives.
type turn struct {
	holds    []*zklock.Hold
	contexts []context.Context
}

func newTurn(holds ...*zklock.Hold) *turn {
	t := &turn{holds: holds}
	for _, h := range holds {
		t.contexts = append(t.contexts, h.Context())
	}
	return t
}

func (t *turn) isOver() bool {
	for i, h := range t.holds {
		if h.Err() == nil || t.contexts[i].Err() == nil {
			return false
		}
	}
	return true
}

// relay is the owners of a lock, one after the other.
type relay struct {
	last    atomic.Pointer[turn]
	tooSoon atomic.Int64 // owners that found the last turn alive
}

// enter is what an owner does first.
func (l *relay) enter(holds ...*zklock.Hold) {
	if last := l.last.Load(); last != nil && !last.isOver() {
		l.tooSoon.Add(1)
	}
	l.last.Store(newTurn(holds...))
}

// waysToGoOn are the ways in which a lock goes from one owner to the next.
var waysToGoOn = map[string]struct {
	turns int
	use   func(b *bubble, s *zklock.Session, l *relay) (one func())
}{
	"hand-off, as handles": {200_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return handles(b, l, b.locker(s, zklock.WithHandoff(1000)).Acquire)
	}},
	"hand-off, by goroutines": {200_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return goroutines(l, b.locker(s, zklock.WithHandoff(1000)))
	}},
	"retention": {5_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return handles(b, l, b.locker(s, zklock.WithRetention(time.Minute)).Acquire)
	}},
	"retention and hand-off": {100_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return goroutines(l, b.locker(s, zklock.WithRetention(time.Minute), zklock.WithHandoff(3)))
	}},
	"succession, as handles": {5_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return handles(b, l, b.locker(s).Acquire)
	}},
	"succession, by goroutines": {5_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return goroutines(l, b.locker(s))
	}},
	"succession, without an owner": {5_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return goroutines(l, b.locker(s, zklock.WithoutOwner()))
	}},
	"succession, in Do": {5_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		lock := b.locker(s)
		return func() {
			_ = lock.Do(context.Background(), func(ctx context.Context) error {
				l.enter(zklock.HoldFrom(ctx))
				return nil
			})
		}
	}},
	"other sessions": {2_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		var n atomic.Int64
		lockers := []*zklock.Locker{b.locker(s), b.locker(b.session("b")), b.locker(b.session("c"))}
		return func() { goroutines(l, lockers[int(n.Add(1))%len(lockers)])() }
	}},
	"writers": {2_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		return goroutines(l, b.rw(s))
	}},
	"writers that downgrade": {2_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		rw := b.rw(s)
		return func() {
			rw.Lock()
			l.enter(rw.Held())
			rw.RLock()
			l.last.Store(newTurn(rw.RHeld()))
			rw.Unlock()
			rw.RUnlock()
		}
	}},
	"a semaphore": {2_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		sem := b.semaphore(s, 1)
		return handles(b, l, func(ctx context.Context) (*zklock.Hold, error) { return sem.Acquire(ctx, 1) })
	}},
	"several locks": {50_000, func(b *bubble, s *zklock.Session, l *relay) func() {
		first := b.locker(s, zklock.WithHandoff(1000))
		b.path += "2"
		second := b.locker(s, zklock.WithHandoff(1000))
		all := must(zklock.NewMulti(first, second))
		return func() {
			all.Lock()
			l.enter(first.Held(), second.Held())
			all.Unlock()
		}
	}},
}

func handles(b *bubble, l *relay, acquire func(context.Context) (*zklock.Hold, error)) func() {
	return func() {
		h, err := acquire(context.Background())
		if err != nil {
			b.t.Error(err)
			return
		}
		l.enter(h)
		_ = h.Release(context.Background())
	}
}

// owned is a lock whose owner can look at its hold.
type owned interface {
	sync.Locker
	Held() *zklock.Hold
}

func goroutines(l *relay, lock owned) func() {
	return func() {
		lock.Lock()
		l.enter(lock.Held())
		lock.Unlock()
	}
}

// The goroutines run in parallel here, more of them than there are processors, so that one is
// stopped now and then between any two of its steps.
func TestNobodySeesALockBeforeItsLastHoldHasEnded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for name, way := range waysToGoOn {
		t.Run(name, func(t *testing.T) {
			b, l := &bubble{t, zktest.NewServer(t), "/lock"}, new(relay)
			one := way.use(b, b.session("owner"), l)
			var left atomic.Int64
			left.Store(int64(often(way.turns)))
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						one()
					}
				})
			}
			all.Wait()
			require.Zero(t, l.tooSoon.Load(), "of %d owners", way.turns)
		})
	}
}
