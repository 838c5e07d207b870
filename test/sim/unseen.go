package sim

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sharing is a lock whose owners pass a node on, and one of another machine in the same queue.
type sharing struct {
	machine, other *machine
	lock, next     *lock
}

// sharing returns the first such pair; nil if there is none.
func (w *world) sharing() *sharing {
	for _, m := range w.machines {
		for _, l := range m.current().locks {
			if l == nil || l.mutex == nil || l.spec.Apart || !l.spec.handsOn() {
				continue
			}
			for _, other := range w.machines {
				for _, next := range other.current().locks {
					if other != m && next != nil && (next.mutex != nil || next.rw != nil) && next.spec.Path == l.spec.Path {
						return &sharing{m, other, l, next}
					}
				}
			}
		}
	}
	return nil
}

// passesUnseen reports whether owners who pass a node on go past somebody who has come while they
// had no connection, though they have had one again for as long as a list takes.
func (w *world) passesUnseen() bool {
	s := w.sharing()
	if s == nil {
		return false
	}
	ctx, stop := context.WithCancel(w.ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	turns := s.takeTurns(ctx, w, &work)
	pause(w.ctx, 100*time.Millisecond) // in which the queue is watched
	cutOff(s.machine.place)
	s.machine.place.Cut()
	came := w.checker.await(OnCreate, s.other.id())
	var served atomic.Bool
	work.Go(func() {
		if h, err := s.next.handles(Section{}).Acquire(ctx); err == nil {
			served.Store(true) // at the grant: others may have turns again while it is given back
			_ = h.Release(w.ctx)
		}
	})
	stands := closesWithin(s.machine.spec.Timeout/4, came)
	s.machine.place.Unblock()
	if s.machine.current().session.Ping(ctx) != nil || !stands { // connected again, whatever comes
		return false
	}
	pause(w.ctx, 20*(w.program.Cluster.Latency+w.program.Cluster.Between+w.program.Cluster.Disk))
	most := turns.Load() + int64(max(s.lock.spec.Handoff, 1)) + 1 // one may be on its way
	w.awaits(2*time.Second, func() bool { return served.Load() || turns.Load() > most })
	if served.Load() || turns.Load() <= most {
		return false
	}
	w.checker.fail("P3", "%s goes on with %s past %s, who has come while there was no connection", s.machine.name, s.lock.spec.Path, s.other.name)
	return true
}

// takeTurns has members of one process take the lock again and again until ctx ends, and counts how
// often one has had it. Where no turn is shared, there is one.
func (s *sharing) takeTurns(ctx context.Context, w *world, work *sync.WaitGroup) *atomic.Int64 {
	turns := new(atomic.Int64)
	members := 1
	if s.lock.spec.Handoff > 1 {
		members = 3
	}
	for range members {
		work.Go(func() {
			for pause(ctx, 5*time.Millisecond) {
				if h, err := s.lock.mutex.Acquire(ctx); err == nil {
					turns.Add(1)
					pause(ctx, 5*time.Millisecond)
					_ = h.Release(w.ctx)
				}
			}
		})
	}
	return turns
}
